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
            for (name, value) in element.members {
                beginMember(name)
                write(value)
            }
            endObject(object)
        case .fault: write(element.value())
        }
    }

    package mutating func beginMember(_ name: JSONElement) {
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
    /// The bytes of a string without escapes.
    fileprivate var utf8: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count)
    }
}
