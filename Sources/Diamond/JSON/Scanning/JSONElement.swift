/// A value or name of a tape. It is valid as long as the tape and the text.
package struct JSONElement {
    package enum Kind: UInt8 {
        case null, `false`, `true`, number, string, array, object
        /// An object, or an element of the outermost array, that two readers could read differently.
        case fault
    }

    @usableFromInline package let entry: UnsafePointer<JSONEntry>
    @usableFromInline package let bytes: UnsafePointer<UInt8>

    @inlinable
    package init(entry: UnsafePointer<JSONEntry>, bytes: UnsafePointer<UInt8>) {
        self.entry = entry
        self.bytes = bytes
    }

    @inlinable package var kind: Kind { entry.pointee.kind }

    /// The number of elements or members; 0 for other values.
    @inlinable package var count: Int {
        kind == .array || kind == .object ? Int(entry.pointee.tag >> 3) : 0
    }

    /// The place in the text: of a string without its quotes.
    @inlinable package var range: Range<Int> { Int(entry.pointee.start)..<Int(entry.pointee.end) }

    /// The bytes in the text: of a string without its quotes.
    @inlinable package var text: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: bytes + Int(entry.pointee.start), count: Int(entry.pointee.end &- entry.pointee.start))
    }

    /// The reason why an element of the kind `fault` is not read; `nil` for others.
    package var fault: String? {
        kind == .fault ? JSONFault(entry[1]).message(in: bytes) : nil
    }
}

extension JSONEntry {
    @inlinable package var kind: JSONElement.Kind {
        unsafeBitCast(UInt8(truncatingIfNeeded: tag & 7), to: JSONElement.Kind.self)
    }
}

// MARK: Strings

extension JSONElement {
    /// Whether a string or name has no escapes, so that ``text`` is its UTF-8.
    @inlinable package var isPlain: Bool { entry.pointee.tag & JSONEntry.escaped == 0 }

    /// Whether a string has a surrogate without a partner, for which it has U+FFFD.
    @inlinable package var hasLoneSurrogate: Bool { entry.pointee.tag & JSONEntry.loneSurrogate != 0 }

    /// Returns the text of a string or name. Other values have none, and must not be asked.
    @inlinable
    package func string() -> String {
        isPlain ? String(decoding: text, as: UTF8.self) : decodedString()
    }

    @usableFromInline
    package func decodedString() -> String { JSONEscapes.decoded(text) }

    /// Whether a name is equal, byte by byte.
    @inlinable
    package func isName(_ name: UnsafeRawBufferPointer) -> Bool {
        guard isPlain else { return isDecodedName(name) }
        let text = text
        return text.count == name.count && text.hasSameBytes(as: name)
    }

    /// Whether a name is equal, byte by byte.
    @inlinable
    package func isName(_ name: StaticString) -> Bool {
        isName(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Whether a name is equal, byte by byte.
    @inlinable
    package func isName(_ name: String) -> Bool {
        if let result = name.utf8.withContiguousStorageIfAvailable({ isName(UnsafeRawBufferPointer($0)) }) {
            return result
        }
        return isDecodedName(name)
    }

    @usableFromInline
    package func isDecodedName(_ name: UnsafeRawBufferPointer) -> Bool { string().utf8.elementsEqual(name) }

    @usableFromInline
    package func isDecodedName(_ name: String) -> Bool { string().isExactly(name) }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are equal to as many others.
    @inlinable
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard let one = baseAddress, let other = other.baseAddress else { return true }
        var index = 0
        while index + 8 <= count {
            let word = one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word == other.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            index += 8
        }
        while index < count {
            guard one.load(fromByteOffset: index, as: UInt8.self) == other.load(fromByteOffset: index, as: UInt8.self)
            else { return false }
            index += 1
        }
        return true
    }
}

// MARK: Arrays and objects

extension JSONElement {
    /// The elements of an array; none for other values.
    @inlinable package var elements: JSONElements { JSONElements(of: self) }

    /// The members of an object; none for other values.
    @inlinable package var members: JSONMembers { JSONMembers(of: self) }
}

/// A cursor over the elements of an array. Whatever an element contains, the way to the next is one step.
package struct JSONElements: Sequence, IteratorProtocol {
    @usableFromInline var entry: UnsafePointer<JSONEntry>
    @usableFromInline let end: UnsafePointer<JSONEntry>
    @usableFromInline let bytes: UnsafePointer<UInt8>

    @inlinable
    init(of array: JSONElement) {
        entry = array.entry + 1
        end = array.kind == .array ? array.entry + Int(array.entry.pointee.span) : entry
        bytes = array.bytes
    }

    @inlinable
    package mutating func next() -> JSONElement? {
        guard entry < end else { return nil }
        defer { entry += Int(entry.pointee.span) }
        return JSONElement(entry: entry, bytes: bytes)
    }
}

/// A cursor over the members of an object, in the order of the text.
package struct JSONMembers: Sequence, IteratorProtocol {
    @usableFromInline var entry: UnsafePointer<JSONEntry>
    @usableFromInline let end: UnsafePointer<JSONEntry>
    @usableFromInline let bytes: UnsafePointer<UInt8>

    @inlinable
    init(of object: JSONElement) {
        entry = object.entry + 1
        end = object.kind == .object ? object.entry + Int(object.entry.pointee.span) : entry
        bytes = object.bytes
    }

    @inlinable
    package mutating func next() -> (name: JSONElement, value: JSONElement)? {
        guard entry < end else { return nil }
        let value = entry + 1
        defer { entry = value + Int(value.pointee.span) }
        return (JSONElement(entry: entry, bytes: bytes), JSONElement(entry: value, bytes: bytes))
    }
}
