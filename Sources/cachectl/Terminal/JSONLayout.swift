#if Tools
import Foundation

/// Lays JSON out for people. Keeps the order of members, the digits of numbers and the escapes of strings.
enum JSONLayout {
    /// Returns a JSON object or array with one member or element in a line; `nil` for another text.
    static func indented(_ text: String) -> String? {
        guard (try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil else { return nil }
        var output: [UInt8] = []
        var depth = 0
        var (isInString, isEscaped, isEmpty) = (false, false, false)
        func lineBreak() -> [UInt8] { [0x0A] + Array(repeating: 0x20, count: depth * 2) }
        for byte in text.utf8 {
            if isInString {
                output.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else {
                    isInString = byte != UInt8(ascii: "\"")
                }
                continue
            }
            guard ![0x20, 0x09, 0x0A, 0x0D].contains(byte) else { continue }
            let isEnd = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            if isEnd { depth -= 1 }
            if isEnd != isEmpty { output += lineBreak() }
            isEmpty = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
            if isEmpty { depth += 1 }
            isInString = byte == UInt8(ascii: "\"")
            output.append(byte)
            if byte == UInt8(ascii: ",") { output += lineBreak() }
            if byte == UInt8(ascii: ":") { output.append(0x20) }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
#endif
