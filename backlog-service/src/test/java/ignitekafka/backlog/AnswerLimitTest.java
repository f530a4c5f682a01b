package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Answers that exceed the size limit of a node. */
class AnswerLimitTest {
    private static final byte[] KEY = {3, 0, 0, 0, 0};
    private static final byte[] MIB = value(1 << 20);

    private static byte[] value(int bytes) {
        return new byte[bytes];
    }

    private static UnitRead unit(int partition, int changes, byte[] value) {
        UnitRead found = new UnitRead(new Unit(1, partition, 1));

        found.searched = true;

        for (int number = 0; number < changes; number++)
            found.changes.add(new Change(number, 0, Change.UPDATED, KEY, value));

        return found;
    }

    @Test
    void leavesTheLastChangesToTheNextAnswer() {
        int most = Limits.bytes() / MIB.length;
        List<UnitRead> all = List.of(unit(0, most / 2, MIB), unit(1, most, MIB), unit(2, 1, KEY), unit(3, 0, MIB));

        AnswerLimit.cut(all);
        assertEquals(most / 2, all.get(0).changes.size());
        assertFalse(all.get(0).more());
        assertTrue(all.get(1).changes.size() < most && all.get(1).changes.size() >= most / 2 - 1);
        assertTrue(all.get(1).more());
        assertEquals(0, all.get(2).changes.size());
        assertTrue(all.get(2).more());
        assertFalse(all.get(3).more());
    }

    @Test
    void anAnswerHasOneChangeOfAnySize() {
        List<UnitRead> all = List.of(unit(0, 2, value(Limits.bytes())));

        AnswerLimit.cut(all);
        assertEquals(1, all.get(0).changes.size());
        assertTrue(all.get(0).more());
    }

    @Test
    void doesNotSplitTheExpiredKeysOfAUnit() {
        int most = Limits.bytes() / MIB.length;
        UnitRead one = unit(0, most - 1, MIB);

        one.stamp = 5;

        for (int i = 0; i < 2 * MIB.length / KEY.length; i++)
            one.changes.add(new Change(-1, 0, Change.EXPIRED, KEY, null));

        AnswerLimit.cut(List.of(one));
        assertEquals(most - 1, one.changes.size());
        assertEquals(0, one.stamp);
        assertTrue(one.more());
    }
}
