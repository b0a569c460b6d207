@testable import Diamond

/// Changes of JSON that keep it JSON, which libFuzzer's own changes of bytes seldom do: a value replaces another one,
/// or is repeated or wrapped.
enum StructureChange {
    /// Returns an input with a change; `nil` if it is not JSON after its first byte.
    static func changed(_ input: UnsafeBufferPointer<UInt8>, _ seed: UInt32) -> [UInt8]? {
        guard input.count > 1 else { return nil }
        let text = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: input.dropFirst()))
        guard let tape = try? JSONTape(scanning: text, ambiguities: .ignored) else { return nil }
        var places: [Range<Int>] = []
        withExtendedLifetime(tape) { collect(tape.root, into: &places) }
        let (old, new) = (places[Int(seed >> 1) % places.count], places[Int(seed >> 9) % places.count])
        let (before, after) = (text[..<old.lowerBound], text[old.upperBound...])
        let (value, other) = (Array(text[old]), Array(text[new]))
        let replacement: [UInt8] =
            switch seed >> 20 % 5 {
            case 0: other
            case 1: Array("[".utf8) + value + Array(",".utf8) + other + Array("]".utf8)
            case 2: Array("{\"a\":".utf8) + value + Array(",\"a\":".utf8) + other + Array("}".utf8)
            case 3: Array("[".utf8) + value + Array("]".utf8)
            default: Array("null".utf8)
            }
        return [input[0]] + before + replacement + after
    }

    /// Collects the places of values, of strings with their quotes.
    private static func collect(_ element: JSONElement, into places: inout [Range<Int>]) {
        let range = element.range
        places.append(element.kind == .string ? range.lowerBound - 1..<range.upperBound + 1 : range)
        switch element.kind {
        case .array: for element in element.elements { collect(element, into: &places) }
        case .object: for member in element.members { collect(member.value, into: &places) }
        default: break
        }
    }
}
