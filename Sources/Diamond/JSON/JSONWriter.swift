package import Foundation

/// A writer for canonical JSON (RFC 8785, JCS): no white space, names sorted by UTF-16 code units, the shortest
/// escapes, numbers as in ECMAScript.
package struct JSONWriter {
    /// The maximum nesting depth of a value, as in Foundation's reader. So the writer's recursion ends on every stack.
    static let maximumDepth = 512

    var bytes: [UInt8] = []
    /// Whether the text is canonical. It may not be with an integer beyond 2^53 and other numbers that JCS rounds to a
    /// double.
    private(set) var isCanonical = true
    /// The first value that has no text, and the offset at which it is missing.
    private var unwritten: (error: JSONError, offset: Int)?
    /// The number of arrays and objects around the value that is being written.
    private var depth = 0
    /// The members of the objects that are being written.
    var members: [Member] = []

    package init() {}

    /// Returns the JSON text of a value.
    ///
    /// - Throws: `notFinite` for a number that is not finite, `tooDeep`.
    package static func text(of value: JSONValue) throws(JSONError) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(value)
        return try writer.text()
    }

    /// Returns the text of everything that was written.
    ///
    /// - Throws: `notFinite` for a number that is not finite, `tooDeep`.
    package func text() throws(JSONError) -> [UInt8] {
        if let unwritten { throw unwritten.error }
        return bytes
    }

    /// Writes a value. After one that is nested deeper than ``maximumDepth``, ``text()`` throws.
    package mutating func write(_ value: JSONValue) {
        depth += 1
        defer { depth -= 1 }
        switch value {
        case .null: writeNull()
        case .bool(let value): write(value)
        case .integer(let value): write(value)
        case .number(let value): write(value)
        case .string(let value): write(value)
        case .array(let values):
            guard isWithinDepth() else { return }
            let array = beginArray()
            for value in values {
                beginElement()
                write(value)
            }
            endArray(array)
        case .object(let members):
            guard isWithinDepth() else { return }
            let object = beginObject()
            for (name, value) in members {
                beginMember(name)
                write(value)
            }
            endObject(object)
        case .fragment(let part): write(part)
        }
    }

    /// Whether an array or object may be written here. If not, notes the error.
    private mutating func isWithinDepth() -> Bool {
        if depth <= Self.maximumDepth { return true }
        note(JSONError(.tooDeep, "the value is nested deeper than \(Self.maximumDepth) levels: send a flatter one"))
        return false
    }

    /// Notes that a value has no text.
    private mutating func note(_ error: JSONError) { unwritten = unwritten ?? (error, bytes.count) }

    private mutating func write(_ part: JSONFragment) {
        let text = [UInt8](part.text.utf8)
        isCanonical = isCanonical && part.fault == nil && JSONNumber.roundTrips(text[...])
        bytes += text
    }

    package mutating func writeNull() { write(literal: "null") }

    package mutating func write(_ bool: Bool) { write(literal: bool ? "true" : "false") }

    private mutating func write(literal: StaticString) {
        bytes.append(atMost: literal.utf8CodeUnitCount) { $0.write(literal) }
    }

    package mutating func write(_ integer: Int64) {
        // Beyond 2^53 ECMAScript may write other digits.
        isCanonical = isCanonical && integer.magnitude <= 1 << 53
        bytes.append(decimal: integer)
    }

    package mutating func write(_ double: Double) {
        // One form for equal numbers.
        if let integer = Int64(exactly: double) { return write(integer) }
        if JSONNumber.isDescribed(double) { return bytes.append(contentsOf: double.description.utf8) }
        guard let text = JSONNumber.text(of: double) else {
            let message = "JSON cannot contain the number \(double): send a finite number, or a string"
            return note(JSONError(.notFinite, message))
        }
        bytes.append(contentsOf: text)
    }
}

extension JSONWriter {
    /// Writes a date as ``InternetTime`` does; `null` for one without a text.
    package mutating func write(_ date: Date) {
        guard let time = InternetTime.CivilTime(date) else { return writeNull() }
        bytes.append(atMost: InternetTime.maximumLength + 2) { text in
            text.write(UInt8(ascii: "\""))
            text.write(time)
            text.write(UInt8(ascii: "\""))
        }
    }
}

// MARK: Arrays and objects

// Each element and member begins with a comma. The end replaces the first comma by the opening bracket.
//
// The functions that only read are mutating, too: an object that has a writer would copy it for each call otherwise.

extension JSONWriter {
    /// An array that is being written.
    package struct Array {
        fileprivate let start: Int
    }

    /// Begins an array. Each element follows a call of ``beginElement()``, and the last is followed by ``endArray(_:)``.
    package mutating func beginArray() -> Array { Array(start: bytes.count) }

    package mutating func beginElement() { bytes.append(UInt8(ascii: ",")) }

    package mutating func endArray(_ array: Array) {
        guard bytes.count > array.start else { return write(literal: "[]") }
        bytes[array.start] = UInt8(ascii: "[")
        bytes.append(UInt8(ascii: "]"))
    }

    /// An object that is being written.
    package struct Object {
        fileprivate let start: Int
        fileprivate let firstMember: Int
    }

    /// Begins an object. Each value follows its name, and the last is followed by ``endObject(_:)``. The members may be
    /// written in any order.
    package mutating func beginObject() -> Object { Object(start: bytes.count, firstMember: members.count) }

    package mutating func beginMember(_ name: String) { name.withBytes { beginMember($0, isBare: $0.isBare) } }

    package mutating func beginMember(_ name: JSONName) {
        members.append(Member(start: bytes.count, beginning: name.beginning))
        bytes.append(contentsOf: name.bytes)
    }

    /// - Parameters:
    ///   - name: The UTF-8 of the name.
    ///   - isBare: Whether it needs no escape.
    mutating func beginMember(_ name: Span<UInt8>, isBare: Bool) {
        members.append(Member(start: bytes.count, beginning: name.beginning(of: name.count)))
        guard isBare else {
            bytes.append(UInt8(ascii: ","))
            write(escaping: name)
            return bytes.append(UInt8(ascii: ":"))
        }
        bytes.append(atMost: name.count + 4) { text in
            text.write(atMost: name.count + 4) { text in
                text.adding(UInt8(ascii: ",")).adding(UInt8(ascii: "\"")).adding(name).adding(UInt8(ascii: "\""))
                    .adding(UInt8(ascii: ":"))
            }
        }
    }

    /// Sorts the members of an object, and ends it.
    ///
    /// - Returns: Whether all names differ.
    @discardableResult
    package mutating func endObject(_ object: Object) -> Bool {
        let count = memberCount(of: object)
        guard count > 0 else {
            write(literal: "{}")
            return true
        }
        let areDifferent = count == 1 || Member.sort(&members, from: object.firstMember, in: &bytes)
        members.removeLast(count)
        bytes[object.start] = UInt8(ascii: "{")
        bytes.append(UInt8(ascii: "}"))
        return areDifferent
    }

    /// Removes an object that was begun, also after its end.
    package mutating func remove(_ object: Object) {
        members.removeLast(memberCount(of: object))
        bytes.removeLast(bytes.count - object.start)
        if let unwritten, unwritten.offset > object.start { self.unwritten = nil }
    }

    /// Returns the number of members of an object that is being written.
    package mutating func memberCount(of object: Object) -> Int { members.count - object.firstMember }

    /// Returns whether one of the first members of an object that is being written has a name.
    ///
    /// - Parameter count: The number of members to search.
    package mutating func hasMember(_ name: String, amongFirst count: Int, of object: Object) -> Bool {
        let beginning = name.withBytes { $0.beginning(of: $0.count) }
        for index in object.firstMember..<object.firstMember + count where members[index].beginning == beginning {
            if bytes[members[index].start...].starts(with: JSONName(name).bytes) { return true }
        }
        return false
    }
}

// MARK: Strings

extension JSONWriter {
    package mutating func write(_ string: String) { string.withBytes { write(quoting: $0) } }

    /// Writes the UTF-8 of a string.
    mutating func write(quoting text: Span<UInt8>) {
        guard text.isBare else { return write(escaping: text) }
        write(bare: text)
    }

    /// Writes the UTF-8 of a string that needs no escape.
    mutating func write(bare text: Span<UInt8>) {
        bytes.append(atMost: text.count + 2) { string in
            string.write(atMost: text.count + 2) { string in
                string.adding(UInt8(ascii: "\"")).adding(text).adding(UInt8(ascii: "\""))
            }
        }
    }

    private mutating func write(escaping text: Span<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for index in text.indices where !text[index].isBare {
            bytes.append(text, in: start..<index)
            write(escaping: text[index])
            start = index + 1
        }
        bytes.append(text, in: start..<text.count)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func write(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x08: write(literal: "\\b")
        case 0x09: write(literal: "\\t")
        case 0x0A: write(literal: "\\n")
        case 0x0C: write(literal: "\\f")
        case 0x0D: write(literal: "\\r")
        default: write(literal: "\\u00"); bytes += Hex.digits(of: byte)
        }
    }
}

extension Span<UInt8> {
    /// Whether a string needs no escape in JSON.
    fileprivate var isBare: Bool {
        withUnsafeBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                guard bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).isBare else { return false }
                index += 8
            }
            return bytes[index...].allSatisfy(\.isBare)
        }
    }
}

extension UInt8 {
    fileprivate var isBare: Bool { self >= 0x20 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\") }
}

extension UInt64 {
    /// Whether none of eight bytes needs an escape.
    fileprivate var isBare: Bool {
        let quotes = self ^ 0x2222_2222_2222_2222
        let escapes = self ^ 0x5C5C_5C5C_5C5C_5C5C
        let found =
            (self &- 0x2020_2020_2020_2020) & ~self | (quotes &- 0x0101_0101_0101_0101) & ~quotes
            | (escapes &- 0x0101_0101_0101_0101) & ~escapes
        return found & 0x8080_8080_8080_8080 == 0
    }
}
