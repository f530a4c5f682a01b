"""The limits of records and schemas, and the table in the docs that lists them."""

from __future__ import annotations

import re
from pathlib import Path

from ignite_kafka.common import record_limits

PAGE = Path(__file__).parents[3] / "docs" / "delivery.md"


def test_the_docs_list_each_limit() -> None:
    page = PAGE.read_text()
    table = page[page.index("### Limits of a record") :].split("\n#", 1)[0]
    listed = {int(number.replace(",", "")) for number in re.findall(r"^\| [^|]+ \| ([\d,]+) \|", table, re.MULTILINE)}
    assert {value for name, value in vars(record_limits).items() if name.startswith("MAX_")} <= listed
