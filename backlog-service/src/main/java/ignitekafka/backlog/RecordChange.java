package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.Arrays;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/**
 * Changes a {@link UnitRecord} on its primary node. Any change except {@link #create()} and {@link #clear} treats a
 * missing record as lost, and marks the unit.
 */
final class RecordChange implements EntryProcessor<BacklogKey, byte[], Void>, Binarylizable {
    private static final byte CREATE = 0;
    private static final byte SPAN = 1;
    private static final byte MARK = 2;
    private static final byte CLEAR = 3;
    private static final byte ACKNOWLEDGE = 4;

    private byte operation;
    private long first;
    private long second;
    private byte[] ranges;

    /** For Ignite's marshaller. */
    RecordChange() {
        // Fields are read from bytes.
    }

    private RecordChange(byte operation, long first, long second, byte[] ranges) {
        this.operation = operation;
        this.first = first;
        this.second = second;
        this.ranges = ranges;
    }

    /** Creates the record if it is missing. */
    static RecordChange create() {
        return new RecordChange(CREATE, 0, 0, null);
    }

    /** Extends the span to the chunks {@code from} to {@code to}. */
    static RecordChange span(long from, long to) {
        return new RecordChange(SPAN, from, to, null);
    }

    /** Changes nothing if the record exists. */
    static RecordChange check() {
        return span(Long.MAX_VALUE, -1);
    }

    /** Marks the unit to be sent again, for these reasons. */
    static RecordChange mark(int bits) {
        return new RecordChange(MARK, bits, 0, null);
    }

    /** Removes the marks, unless the unit was marked again after this number. */
    static RecordChange clear(long markNumber) {
        return new RecordChange(CLEAR, markNumber, 0, null);
    }

    /** Adds sent numbers; raises the low end to {@code from} if the record is still in that turn. */
    static RecordChange acknowledge(Ranges sent, long from, long turn) {
        ByteBuffer out = Chunk.buffer(new byte[16 * sent.count()]);

        sent.write(out);

        return new RecordChange(ACKNOWLEDGE, from, turn, out.array());
    }

    @Override
    public Void process(MutableEntry<BacklogKey, byte[]> entry, Object... arguments) {
        byte[] present = entry.getValue();

        if (present != null && operation == CREATE) return null;

        UnitRecord record = present != null ? UnitRecord.decode(present) : UnitRecord.empty();

        if (present == null && operation != CREATE && operation != CLEAR) record = record.marked(UnitRecord.LOST);

        byte[] changed = apply(record).encode();

        if (!Arrays.equals(changed, present)) entry.setValue(changed);

        return null;
    }

    private UnitRecord apply(UnitRecord record) {
        switch (operation) {
            case SPAN:
                return record.spanning(first, second);

            case MARK:
                return record.marked((int) first);

            case CLEAR:
                return record.cleared(first);

            case ACKNOWLEDGE:
                return record.acknowledged(Ranges.read(Chunk.buffer(ranges), ranges.length / 16), first, second);

            default:
                return record;
        }
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();

        raw.writeByte(operation);
        raw.writeLong(first);
        raw.writeLong(second);
        raw.writeByteArray(ranges);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader();

        operation = raw.readByte();
        first = raw.readLong();
        second = raw.readLong();
        ranges = raw.readByteArray();
    }
}
