import Diamond

/// A JSON value in a scanned text.
@usableFromInline
struct TextElement {
    let element: JSONElement

    var isNull: Bool { element.kind == .null }
    @usableFromInline var value: JSONValue { element.value() }

    /// Returns the elements of an array; `nil` if one of them may need repairs, and for other values.
    func elements<Value>(by codec: Codec<Value>) -> [Value]? {
        guard element.kind == .array else { return nil }
        var log = RepairLog()
        var values: [Value] = []
        values.reserveCapacity(element.count)
        for part in element.elements {
            guard let value = codec.read(TextElement(element: part), &log), log.isClean else { return nil }
            values.append(value)
        }
        return values
    }

    /// Returns the function that reads values of a type from a text; `nil` for a type that only reads `JSONValue`.
    ///
    /// It returns `nil` for text that has to be read as a `JSONValue`, because it may need repairs.
    @usableFromInline
    static func reader<Value>(of type: Value.Type) -> (@Sendable (TextElement) -> Value?)? {
        func erased<Readable: TextReadable>(_ type: Readable.Type) -> Any {
            let read: @Sendable (TextElement) -> Readable? = { Readable(text: $0.element) }
            return read
        }
        // Usual, and specialized.
        let strings: @Sendable (TextElement) -> String? = { String(text: $0.element) }
        let integers: @Sendable (TextElement) -> Int? = { Int(text: $0.element) }
        let read: Any? =
            switch type {
            case is String.Type: strings
            case is Int.Type: integers
            default: (type as? any TextReadable.Type).map { erased($0) }
            }
        return read as? @Sendable (TextElement) -> Value?
    }
}
