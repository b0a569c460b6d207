import Foundation

@testable import Diamond

/// Foundation's reader of JSON, for the scanner to be compared with.
enum FoundationJSON {
    /// Returns how the scanner and Foundation differ on a text; `nil` if they do not.
    static func disagreement(on bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        // Foundation takes a text with a zero, or with the marks of UTF-16, for UTF-16 or UTF-32. On Linux,
        // JSONSerialization drops a byte order mark within a string, which JSONDecoder and the scanner keep.
        guard !hasFinalComma(text), !bytes.contains(0), !bytes.starts(with: [0xFE, 0xFF]),
            !bytes.starts(with: [0xFF, 0xFE]), !text.dropFirst().unicodeScalars.contains("\u{FEFF}")
        else { return nil }
        let expected = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        let agrees = bytes.withUnsafeBytes { bytes in
            guard let tape = try? JSONTape(scanning: bytes, ambiguities: .ignored) else { return expected == nil }
            return withExtendedLifetime(tape) {
                // Foundation refuses a surrogate without a partner, and a number beyond a double.
                expected.map { isEqual(tape.root, $0) } ?? isAmbiguous(tape.root)
            }
        }
        return agrees ? nil : "Foundation reads another value, or none: \(text.debugDescription)"
    }

    private static func isEqual(_ element: JSONElement, _ other: Any) -> Bool {
        switch element.kind {
        case .null: other is NSNull
        case .false: (other as? NSNumber)?.boolValue == false
        case .true: (other as? NSNumber)?.boolValue == true
        case .number: isNear((other as? NSNumber)?.doubleValue, element.double())
        case .string: (other as? String).map { $0.utf8.elementsEqual(element.string().utf8) } == true
        case .array:
            (other as? [Any]).map { others in
                others.count == element.count && zip(element.elements, others).allSatisfy(isEqual)
            } == true
        case .object:
            (other as? [String: Any]).map { others in
                let last = Dictionary(element.members.map { ($0.name.string(), $0.value) }) { $1 }
                return last.count == others.count
                    && last.allSatisfy { name, value in others[name].map { isEqual(value, $0) } == true }
            } == true
        case .fault: false
        }
    }

    /// Whether a comma may be before the end of an array or object, where Foundation takes it on Linux.
    private static func hasFinalComma(_ text: String) -> Bool {
        let plain = text.filter { !$0.isWhitespace }
        return plain.contains(",]") || plain.contains(",}")
    }

    /// Whether two doubles differ by rounding. On Linux, Foundation rounds some numbers several times.
    private static func isNear(_ one: Double?, _ other: Double?) -> Bool {
        guard let one, let other else { return false }
        return (one - other).magnitude <= 64 * other.ulp
    }

    private static func isAmbiguous(_ element: JSONElement) -> Bool {
        switch element.kind {
        case .number: element.double() == nil || element.double() == 0
        case .string: element.hasLoneSurrogate
        case .array: element.elements.contains(where: isAmbiguous)
        case .object: element.members.contains { isAmbiguous($0.name) || isAmbiguous($0.value) }
        default: false
        }
    }
}
