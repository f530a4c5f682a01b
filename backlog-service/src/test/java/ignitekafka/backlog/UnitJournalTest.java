package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The journal of units that a node has written. */
class UnitJournalTest {
    private static Unit unit(int partition) {
        return new Unit(1, partition, 2);
    }

    private static UnitJournal.Answer since(UnitJournal journal, UnitJournal.Answer before) {
        return UnitJournal.Answer.read(journal.since(before == null ? Map.of() : Map.of(before.id, before.number)));
    }

    @Test
    void listsEachUnitOnceInTheOrderOfItsLastWrite() {
        UnitJournal journal = new UnitJournal();
        UnitJournal.Answer first = since(journal, null);

        assertFalse(first.known);
        journal.note(List.of(unit(1), unit(2)));
        journal.note(List.of(unit(1)));

        UnitJournal.Answer second = since(journal, first);

        assertTrue(second.known);
        assertEquals(List.of(unit(2), unit(1)), second.units);
        assertEquals(List.of(), since(journal, second).units);
        assertTrue(since(journal, second).known);
    }

    @Test
    void aNumberOfAnotherJournalIsUnknown() {
        UnitJournal journal = new UnitJournal();

        journal.note(List.of(unit(1)));
        assertFalse(UnitJournal.Answer.read(journal.since(Map.of(UUID.randomUUID(), 1L))).known);
    }

    @Test
    void forgetsTheOldestUnits() {
        UnitJournal journal = new UnitJournal();
        UnitJournal.Answer first = since(journal, null);

        journal.note(List.of(unit(-1)));

        UnitJournal.Answer second = since(journal, first);

        journal.note(IntStream.range(0, UnitJournal.UNITS)
                .mapToObj(UnitJournalTest::unit)
                .collect(Collectors.toList()));
        assertFalse(since(journal, first).known);
        assertTrue(since(journal, second).known);
        assertEquals(UnitJournal.UNITS, since(journal, second).units.size());
    }
}
