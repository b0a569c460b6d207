import Diamond
import Foundation

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

/// A value that is read from a text as `init(json:)` reads it. `nil` leaves the text to `init(json:)`.
protocol TextReadable: SendableMetatype {
    init?(text: JSONElement)
}

extension String: TextReadable {
    init?(text: JSONElement) {
        guard text.kind == .string else { return nil }
        self = text.string()
    }
}

extension Bool: TextReadable {
    init?(text: JSONElement) {
        switch text.kind {
        case .true: self = true
        case .false: self = false
        default: return nil
        }
    }
}

extension Double: TextReadable {
    init?(text: JSONElement) {
        guard let double = text.double() else { return nil }
        // A `JSONValue` has no negative zero.
        self = double == 0 ? 0 : double
    }
}

extension FixedWidthInteger {
    init?(text: JSONElement) {
        guard let integer = text.integer() else { return nil }
        self.init(exactly: integer)
    }
}

extension Int: TextReadable {}
extension Int8: TextReadable {}
extension Int16: TextReadable {}
extension Int32: TextReadable {}
extension Int64: TextReadable {}
extension UInt: TextReadable {}
extension UInt8: TextReadable {}
extension UInt16: TextReadable {}
extension UInt32: TextReadable {}
extension UInt64: TextReadable {}

extension Date: TextReadable {
    init?(text: JSONElement) {
        guard let date = String(text: text).flatMap(InternetTime.date) else { return nil }
        self = date
    }
}

extension URL: TextReadable {
    init?(text: JSONElement) {
        guard let url = String(text: text).flatMap({ URL(string: $0) }), url.scheme != nil else { return nil }
        self = url
    }
}

extension Array: TextReadable where Element: TextReadable {
    /// Creates the array. One with elements of another type is left to `init(json:)`, which records them.
    init?(text: JSONElement) {
        guard text.kind == .array else { return nil }
        var elements: [Element] = []
        elements.reserveCapacity(text.count)
        for part in text.elements {
            guard let element = Element(text: part) else { return nil }
            elements.append(element)
        }
        self = elements
    }
}
