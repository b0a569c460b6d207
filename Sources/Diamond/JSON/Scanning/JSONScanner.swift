/// A scanner that makes the tape of a JSON text, without recursion.
struct JSONScanner {
    let bytes: UnsafePointer<UInt8>
    let end: Int
    var position = 0

    /// The entries, which the tape deallocates.
    private(set) var entries: UnsafeMutablePointer<JSONEntry>
    private var count = 0
    private var capacity: Int
    private(set) var shapes = JSONShapes()

    private let ambiguities: JSONTape.Ambiguities
    private let maximumDepth: Int
    /// The first ambiguity, which is thrown only if the whole text is valid JSON.
    private var fault: JSONFault?

    /// The index of the innermost open array or object; -1 outside of all.
    private var open = -1
    private var isInObject = false
    private var depth = 0

    /// Scans a whole text.
    init(
        scanning text: UnsafeRawBufferPointer, ambiguities: JSONTape.Ambiguities, maximumDepth: Int
    ) throws(JSONError) {
        guard let bytes = text.assumingMemoryBound(to: UInt8.self).baseAddress, text.count <= 1 << 30 else {
            let isEmpty = text.isEmpty
            let message = isEmpty ? "the text ends where a value should be" : "more than 1 GiB: divide the text"
            throw JSONError(.malformed, message, at: 0, in: text)
        }
        self.bytes = bytes
        end = text.count
        self.ambiguities = ambiguities
        self.maximumDepth = maximumDepth
        // Most texts have ten bytes or more for each value.
        capacity = text.count / 8 + 8
        entries = .allocate(capacity: capacity)
        do { try scan() } catch {
            entries.deallocate()
            throw error
        }
    }

    @inline(__always)
    mutating func append(_ entry: JSONEntry) {
        if count == capacity { grow() }
        (entries + count).initialize(to: entry)
        count += 1
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<JSONEntry>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: entries, count: count)
        entries.deallocate()
        entries = larger
        capacity *= 2
    }

    private mutating func scan() throws(JSONError) {
        if end >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
        skipSpace()
        repeat {
            guard try !scanValue() else { continue }
            try closeContainers()
        } while open >= 0
        skipSpace()
        guard position == end else { throw failure("expected the end of the text") }
        if let fault { throw error(.ambiguous, fault.message(in: bytes), at: fault.offset) }
    }

    // MARK: Arrays and objects

    /// Scans a value or, of an array or object that is not empty, its beginning up to the first element.
    ///
    /// - Returns: Whether an array or object was opened, so that a value follows.
    @inline(__always)
    private mutating func scanValue() throws(JSONError) -> Bool {
        let byte = peek
        guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
            try scanScalar()
            endValue(at: count - 1)
            return false
        }
        guard depth < maximumDepth else {
            try skipTooDeep()
            return false
        }
        return try openContainer(isObject: byte == UInt8(ascii: "{"))
    }

    @inline(__always)
    private mutating func openContainer(isObject: Bool) throws(JSONError) -> Bool {
        var entry = JSONEntry(isObject ? .object : .array, start: position, end: 0)
        position += 1
        skipSpace()
        guard peek != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            position += 1
            entry.end = UInt32(truncatingIfNeeded: position)
            append(entry)
            return false
        }
        entry.tag += JSONEntry.one
        entry.span = UInt32(truncatingIfNeeded: open)
        open = count
        isInObject = isObject
        depth += 1
        append(entry)
        if isObject { try scanName() }
        return true
    }

    /// Scans what follows a value: the ends of arrays and objects, or a comma and the next name.
    @inline(__always)
    private mutating func closeContainers() throws(JSONError) {
        while open >= 0 {
            guard try scanDelimiter(isInObject: isInObject) else {
                // A text without an end may have one element more than the count holds.
                entries[open].tag &+= JSONEntry.one
                if isInObject { try scanName() }
                return
            }
            closeContainer()
        }
    }

    @inline(__always)
    private mutating func closeContainer() {
        let index = open
        let entry = entries + index
        open = Int(Int32(bitPattern: entry.pointee.span))
        entry.pointee.span = UInt32(truncatingIfNeeded: count - index)
        entry.pointee.end = UInt32(truncatingIfNeeded: position)
        if isInObject, ambiguities != .ignored { checkNames(of: JSONElement(entry: entry, bytes: bytes)) }
        isInObject = open >= 0 && entries[open].kind == .object
        depth -= 1
        endValue(at: index)
    }

    private mutating func checkNames(of object: JSONElement) {
        // The object of a whole text shares its names with no other one.
        let isAlone = open < 0
        guard object.count > 1, isAlone || !shapes.areNamesUnique(in: object, entries: entries),
            let (name, value) = object.repeatedMember()
        else { return }
        // The first ambiguity in the text counts. The name is known to be one after its value.
        if let fault, fault.offset < value.entry.pointee.end { return }
        fault = JSONFault(.name, in: name.range, maximumDepth: maximumDepth)
    }

    @inline(__always)
    private mutating func scanName() throws(JSONError) {
        guard peek == UInt8(ascii: "\"") else { throw failure("expected a name in double quotes") }
        try scanString()
        skipSpace()
        guard peek == UInt8(ascii: ":") else { throw failure("expected ':'") }
        position += 1
        skipSpace()
    }

    /// Scans the comma or the end after an element, and returns `true` at the end.
    @inline(__always)
    private mutating func scanDelimiter(isInObject: Bool) throws(JSONError) -> Bool {
        skipSpace()
        let byte = peek
        position += 1
        if byte == UInt8(ascii: ",") {
            skipSpace()
            return false
        }
        guard byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            position -= 1
            throw failure("expected ',' or '\(isInObject ? "}" : "]")'")
        }
        return true
    }

    // MARK: Ambiguities

    mutating func record(_ kind: JSONFault.Kind, in range: Range<Int>) {
        guard ambiguities != .ignored, fault == nil else { return }
        fault = JSONFault(kind, in: range, maximumDepth: maximumDepth)
    }

    @inline(__always)
    private mutating func endValue(at index: Int) {
        if fault != nil, ambiguities == .isolated { isolate(index) }
    }

    /// Replaces an object with an ambiguity, or an element of the outermost array, and forgets the ambiguity.
    @inline(never)
    private mutating func isolate(_ index: Int) {
        let (kind, range) = (entries[index].kind, JSONElement(entry: entries + index, bytes: bytes).range)
        let start = kind == .string ? range.lowerBound - 1 : range.lowerBound
        guard let fault, fault.offset >= start, kind == .object || (open == 0 && !isInObject) else { return }
        count = index
        shapes.removeObjects()
        var entry = JSONEntry(.fault, start: start, end: position)
        entry.span = 2
        append(entry)
        append(fault.entry)
        self.fault = nil
    }

    /// Skips a value that is nested too deeply, which is an ambiguity of the object around it. Its entry is `null`.
    @inline(never)
    private mutating func skipTooDeep() throws(JSONError) {
        guard ambiguities == .isolated else { throw failure("nested deeper than \(maximumDepth) levels") }
        record(.depth, in: position..<position)
        append(JSONEntry(.null, start: position, end: position))
        let count = self.count
        var areObjects: [Bool] = []
        repeat {
            guard try !skipValue(&areObjects) else { continue }
            while let isObject = areObjects.last {
                guard try scanDelimiter(isInObject: isObject) else {
                    if isObject { try scanName() }
                    break
                }
                areObjects.removeLast()
            }
            self.count = count
        } while !areObjects.isEmpty
        endValue(at: count - 1)
    }

    private mutating func skipValue(_ areObjects: inout [Bool]) throws(JSONError) -> Bool {
        let byte = peek
        guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
            try scanScalar()
            return false
        }
        let isObject = byte == UInt8(ascii: "{")
        position += 1
        skipSpace()
        if peek == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            return false
        }
        areObjects.append(isObject)
        if isObject { try scanName() }
        return true
    }

    // MARK: The text

    /// The next byte; 0 at the end, which no JSON text contains.
    @inline(__always)
    var peek: UInt8 { position < end ? bytes[position] : 0 }

    @inline(__always)
    mutating func skipSpace() {
        guard peek <= 0x20 else { return }
        skipSpaces()
    }

    private mutating func skipSpaces() {
        while position < end {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
            while position + 8 <= end, word(at: position) == 0x2020_2020_2020_2020 { position += 8 }
        }
    }

    /// The eight bytes at an offset, the first in the lowest bits.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes + offset).loadUnaligned(as: UInt64.self))
    }

    @inline(never)
    func failure(_ message: String) -> JSONError { error(.malformed, message, at: position) }

    private func error(_ code: JSONError.Code, _ message: String, at offset: Int) -> JSONError {
        JSONError(code, message, at: offset, in: UnsafeRawBufferPointer(start: bytes, count: end))
    }
}
