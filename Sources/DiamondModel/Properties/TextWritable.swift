import Diamond
import Foundation

/// A value that is written to a text as its `json` is written.
protocol TextWritable: SendableMetatype {
    func write(to output: inout JSONWriter)
}

extension String: TextWritable {
    func write(to output: inout JSONWriter) { output.write(self) }
}

extension Bool: TextWritable {
    func write(to output: inout JSONWriter) { output.write(self) }
}

extension Double: TextWritable {
    func write(to output: inout JSONWriter) {
        if isFinite { output.write(self) } else { output.writeNull() }
    }
}

extension FixedWidthInteger {
    func write(to output: inout JSONWriter) {
        if let integer = Int64(exactly: self) { output.write(integer) } else { output.write(JSONValue(self)) }
    }
}

extension Int: TextWritable {}
extension Int8: TextWritable {}
extension Int16: TextWritable {}
extension Int32: TextWritable {}
extension Int64: TextWritable {}
extension UInt: TextWritable {}
extension UInt8: TextWritable {}
extension UInt16: TextWritable {}
extension UInt32: TextWritable {}
extension UInt64: TextWritable {}

extension Date: TextWritable {
    func write(to output: inout JSONWriter) { output.write(self) }
}

extension URL: TextWritable {
    func write(to output: inout JSONWriter) { output.write(absoluteString) }
}

extension JSONValue: TextWritable {
    func write(to output: inout JSONWriter) { output.write(self) }
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
