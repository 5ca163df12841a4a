// Just enough of zip to change entries of a record: all of them stored, none larger than 4 GB.
const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

const crc32 = (bytes) => ~bytes.reduce((crc, byte) => TABLE[(crc ^ byte) & 255] ^ (crc >>> 8), ~0) >>> 0;

/** The stored entries of a zip, by name. */
export function unzip(bytes) {
  const entries = new Map();
  const end = bytes.lastIndexOf("PK\x05\x06");
  let at = bytes.readUInt32LE(end + 16);
  for (let n = bytes.readUInt16LE(end + 10); n > 0; n--) {
    const size = bytes.readUInt32LE(at + 24);
    const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const local = bytes.readUInt32LE(at + 42);
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    entries.set(bytes.toString("utf8", at + 46, at + 46 + name), bytes.subarray(data, data + size));
    at += 46 + name + extra + comment;
  }
  return entries;
}

/** A zip of stored entries. */
export function zip(entries) {
  const [parts, directory] = [[], []];
  let at = 0;
  for (const [text, data] of entries) {
    const name = Buffer.from(text);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(0x800, 2); // names are UTF-8
    fields.writeUInt16LE(0x5c21, 8);
    fields.writeUInt32LE(crc32(data), 10);
    fields.writeUInt32LE(data.length, 14);
    fields.writeUInt32LE(data.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    parts.push(Buffer.from("PK\x03\x04"), fields, name, data);
    directory.push(Buffer.from("PK\x01\x02\x14\x00"), fields, rest, name);
    at += 30 + name.length + data.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(entries.size, 8);
  end.writeUInt16LE(entries.size, 10);
  end.writeUInt32LE(length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
}
