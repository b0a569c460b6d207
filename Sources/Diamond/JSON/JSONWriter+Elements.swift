/// Values of a scanned text, written without making values of them.
extension JSONWriter {
    /// Writes a value as its `JSONValue` is written.
    package mutating func write(_ element: JSONElement) {
        switch element.kind {
        case .null: writeNull()
        case .false: write(false)
        case .true: write(true)
        case .number: write(number: element)
        case .string: write(string: element)
        case .array:
            let array = beginArray()
            for element in element.elements {
                beginElement()
                write(element)
            }
            endArray(array)
        case .object:
            let object = beginObject()
            for (name, value) in element.members { write(value, named: name) }
            endObject(object)
        case .fault: write(element.value())
        }
    }

    /// Writes a member. Its text is copied if that is canonical.
    package mutating func write(_ value: JSONElement, named name: JSONElement) {
        guard let text = value.canonicalMember(named: name) else {
            beginMember(name)
            return write(value)
        }
        let beginning = name.utf8.span.beginning(of: name.utf8.count)
        members.append(Member(start: bytes.count, beginning: beginning))
        bytes.append(atMost: text.count + 1) { member in
            member.write(atMost: text.count + 1) { $0.adding(UInt8(ascii: ",")).adding(text.span) }
        }
    }

    private mutating func beginMember(_ name: JSONElement) {
        guard name.isPlain else { return beginMember(name.string()) }
        beginMember(name.utf8.span, isBare: true)
    }

    private mutating func write(string element: JSONElement) {
        guard element.isPlain else { return write(element.string()) }
        write(bare: element.utf8.span)
    }

    private mutating func write(number element: JSONElement) {
        if element.isShortInteger { return write(element.shortInteger) }
        guard JSONNumber.isShortest(element.text) else { return write(element.number) }
        bytes.append(contentsOf: element.text)
    }
}

extension JSONElement {
    /// Returns the text from a name's quote to the end of this value; `nil` if it is not the canonical text of both.
    fileprivate func canonicalMember(named name: JSONElement) -> UnsafeBufferPointer<UInt8>? {
        var range = range
        switch kind {
        case .null, .false, .true: break
        case .number: guard isCanonicalInteger || JSONNumber.isShortest(text) else { return nil }
        case .string:
            guard isPlain else { return nil }
            range = range.lowerBound - 1..<range.upperBound + 1
        case .array, .object, .fault: return nil
        }
        // A closing quote and a colon.
        guard name.isPlain, name.range.upperBound + 2 == range.lowerBound else { return nil }
        let start = name.range.lowerBound - 1
        return UnsafeBufferPointer(start: bytes + start, count: range.upperBound - start)
    }

    /// Whether it is an integer of at most 15 digits, which is not a negative zero.
    private var isCanonicalInteger: Bool {
        isShortInteger && text.count <= 15 && !(text.count == 2 && text[0] == UInt8(ascii: "-") && text[1] == 0x30)
    }

    /// The bytes of a string without escapes.
    fileprivate var utf8: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count)
    }
}
