/// Objects with the same names in the same order, which most objects of a list have.
///
/// The number of a shape is kept in the entry of the first name, whose span is not needed. An object alone has none.
struct JSONShapes {
    private(set) var count = 0
    /// The indices of earlier objects without repeated names; empty before the first.
    private var objects: [Int?] = []

    /// Whether the names of an object differ. If an earlier one has the same names, both get its shape.
    @inline(__always)
    mutating func areNamesUnique(in object: JSONElement, entries: UnsafeMutablePointer<JSONEntry>) -> Bool {
        if objects.isEmpty { objects = Array(repeating: nil, count: 64) }
        let slot = (object.count &* 31 &+ object.firstName.text.count) & 63
        let index = object.entry - UnsafePointer(entries)
        guard let earlier = objects[slot],
            object.hasNames(of: JSONElement(entry: entries + earlier, bytes: object.bytes))
        else {
            guard object.repeatedMember() == nil else { return false }
            objects[slot] = index
            return true
        }
        if entries[earlier + 1].span == 1 {
            count += 1
            entries[earlier + 1].span += UInt32(truncatingIfNeeded: count)
        }
        entries[index + 1].span = entries[earlier + 1].span
        return true
    }

    /// Forgets the earlier objects, because their entries are removed.
    mutating func removeObjects() { objects = [] }
}

extension JSONElement {
    /// The name of the first member of an object, which must have members.
    var firstName: JSONElement { JSONElement(entry: entry + 1, bytes: bytes) }

    /// The number of the shape of an object, from 1; 0 for others.
    var shape: Int { count > 1 ? Int(entry[1].span) - 1 : 0 }

    /// Whether an object has the names of another one, in the same order and form.
    fileprivate func hasNames(of other: JSONElement) -> Bool {
        guard count == other.count else { return false }
        var others = other.members
        for (name, _) in members {
            guard let other = others.next()?.name.text, name.text.count == other.count,
                name.text.hasSameBytes(as: other)
            else { return false }
        }
        return true
    }

    /// Returns the first member of an object whose name an earlier one has; `nil` if all names differ.
    ///
    /// Names are compared as a dictionary does, by Unicode equivalence.
    func repeatedMember() -> (name: JSONElement, value: JSONElement)? {
        guard count > 1 else { return nil }
        switch searchASCII() {
        case .repeated(let name, let value): return (name, value)
        case .unique: return nil
        case .undecided: break
        }
        var names: Set<String> = []
        return members.first { !names.insert($0.name.string()).inserted }
    }

    private enum ASCIISearch {
        case repeated(name: JSONElement, value: JSONElement)
        case unique
        /// Names have escapes or other characters, or too many hashes collide.
        case undecided
    }

    /// Compares names without making strings.
    private func searchASCII() -> ASCIISearch {
        let mask = 1 << (Int.bitWidth - (2 * count - 1).leadingZeroBitCount) - 1
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: mask + 1) { table in
            table.initialize(repeating: 0)
            var collisions = 0
            for (name, value) in members {
                guard name.isASCII else { return .undecided }
                var slot = name.hash & mask
                while table[slot] != 0 {
                    let other = JSONElement(entry: entry + Int(table[slot]), bytes: bytes)
                    if name.isName(other.text) { return .repeated(name: name, value: value) }
                    collisions += 1
                    slot = (slot + 1) & mask
                }
                guard collisions <= 16 * count else { return .undecided }
                table[slot] = UInt32(truncatingIfNeeded: name.entry - entry)
            }
            return .unique
        }
    }

    var isASCII: Bool { entry.pointee.tag & (JSONEntry.escaped | JSONEntry.beyondASCII) == 0 }

    /// The hash FNV-1a.
    private var hash: Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int(truncatingIfNeeded: hash ^ hash >> 32)
    }
}
