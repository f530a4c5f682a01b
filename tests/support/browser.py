"""A real Chromium, driven by WebDriver, with a profile of its own; screenshots go to a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    NoSuchElementException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en-GB",
)  # fmt: skip
_MISSING = "chromium and chromedriver are needed: `make browser`, or as root `apt-get install chromium chromium-driver`"
WAIT_S = 300.0
T = TypeVar("T")


class Browser:
    """A browser and what tests do with it; each look at the page waits until there is what it looks for."""

    def __init__(self, driver: Chrome, shots: Path) -> None:
        self.driver, self.shots = driver, shots

    def open(self, url: str) -> None:
        self.driver.switch_to.default_content()
        self.driver.get(url)

    def until(self, probe: Callable[[], T | None], what: str) -> T:
        """Call until the result is true, and return it; elements that are replaced meanwhile are looked up again.

        :raises TimeoutException: never true; the message has what the page shows.
        """
        ignored = (NoSuchElementException, StaleElementReferenceException, ElementClickInterceptedException)  # a message lies above it
        wait = WebDriverWait(self.driver, WAIT_S, 0.1, ignored_exceptions=ignored)
        try:
            found = wait.until(lambda _: probe())
            assert found is not None
            return found
        except TimeoutException:
            self.shoot("failure")
            print(f"{what}: not on {self.driver.current_url}:\n{self.text()}")
            raise

    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def has(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.until(lambda: text in self.text(), text)

    def find(self, css: str) -> WebElement:
        """Wait for a visible element."""
        return self.until(lambda: next((one for one in self.all(css) if one.is_displayed()), None), css)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def labelled(self, text: str, tag: str = "*") -> WebElement:
        """Wait for a visible element with exactly this text."""
        path = f"//{tag}[normalize-space(.)={text!r}]"
        return self.until(lambda: next((one for one in self.driver.find_elements(By.XPATH, path) if one.is_displayed()), None), text)

    def click(self, css: str) -> None:
        self.until(lambda: self._clicked(self.find(css)), f"click on {css}")

    def press(self, text: str, tag: str = "button") -> None:
        """Click on the element with exactly this text."""
        self.until(lambda: self._clicked(self.labelled(text, tag)), f"click on {text}")

    def fill(self, css: str, text: str, shown: str | None = None) -> None:
        """Replace the content of a field, and repeat it until the content stays: a page that renders again restores its own content.

        :param shown: expected content of a field that drops invalid characters; None for the text itself.
        """

        def filled() -> bool:
            field = self.find(css)
            if field.get_attribute("value") == (text if shown is None else shown):
                return True
            field.clear()
            field.send_keys(text)
            return False

        self.until(filled, f"{text!r} in {css}")

    def enter_frame(self) -> None:
        """Look into the frame of the page from now on."""
        self.driver.switch_to.default_content()
        self.driver.switch_to.frame(self.find("iframe"))

    def leave_frame(self) -> None:
        self.driver.switch_to.default_content()

    def shoot(self, name: str, width: int = 1440, height: int = 900) -> Path:
        """Write what the window shows as ``name.png``."""
        self.driver.set_window_size(width, height)
        self.shots.mkdir(parents=True, exist_ok=True)
        path = self.shots / f"{name}.png"
        self.driver.save_screenshot(str(path))
        return path

    def errors(self) -> list[str]:
        """Errors in the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    @staticmethod
    def _clicked(element: WebElement) -> bool:
        if not element.is_enabled():
            return False
        element.click()
        return True


@contextmanager
def chromium(profile: Path, shots: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    assert all(programs.values()), _MISSING
    options = ChromeOptions()
    options.binary_location = str(programs["chromium"])
    for flag in (*_FLAGS, f"--user-data-dir={profile}", "--window-size=1440,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, Service(programs["chromedriver"]))
    driver.set_page_load_timeout(WAIT_S)
    try:
        yield Browser(driver, shots)
    finally:
        driver.quit()
