import Diamond
import Foundation

/// A value that is read from a text as `init(json:)` reads it. `nil` leaves the text to `init(json:)`.
protocol TextReadable: SendableMetatype {
    init?(text: JSONElement)
}

/// A value that is written to a text as its `json` is written.
protocol TextWritable: SendableMetatype {
    func write(to output: inout JSONWriter)
}

extension String: TextReadable, TextWritable {
    init?(text: JSONElement) {
        guard text.kind == .string else { return nil }
        self = text.string()
    }

    func write(to output: inout JSONWriter) { output.write(self) }
}

extension Bool: TextReadable, TextWritable {
    init?(text: JSONElement) {
        switch text.kind {
        case .true: self = true
        case .false: self = false
        default: return nil
        }
    }

    func write(to output: inout JSONWriter) { output.write(self) }
}

extension Double: TextReadable, TextWritable {
    init?(text: JSONElement) {
        guard let double = text.double() else { return nil }
        // A `JSONValue` has no negative zero.
        self = double == 0 ? 0 : double
    }

    func write(to output: inout JSONWriter) {
        if isFinite { output.write(self) } else { output.writeNull() }
    }
}

extension FixedWidthInteger {
    init?(text: JSONElement) {
        guard let integer = text.integer() else { return nil }
        self.init(exactly: integer)
    }

    func write(to output: inout JSONWriter) {
        if let integer = Int64(exactly: self) { output.write(integer) } else { output.write(JSONValue(self)) }
    }
}

extension TextReadable where Self: TextValue {
    init?(text: JSONElement) {
        guard let text = String(text: text) else { return nil }
        self.init(jsonText: text)
    }
}

extension Date: TextReadable, TextWritable {
    func write(to output: inout JSONWriter) { output.write(self) }
}

extension URL: TextReadable, TextWritable {
    func write(to output: inout JSONWriter) { output.write(absoluteString) }
}

extension JSONValue: TextWritable {
    func write(to output: inout JSONWriter) { output.write(self) }
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

extension Array: TextWritable where Element: TextWritable {
    func write(to output: inout JSONWriter) {
        let array = output.beginArray()
        for element in self {
            output.beginElement()
            element.write(to: &output)
        }
        output.endArray(array)
    }
}

extension Dictionary: TextWritable where Key == String, Value: TextWritable {
    func write(to output: inout JSONWriter) {
        let object = output.beginObject()
        for (name, value) in self {
            output.beginMember(name)
            value.write(to: &output)
        }
        output.endObject(object)
    }
}
