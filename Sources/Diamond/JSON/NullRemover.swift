/// A filter that removes `null` members of objects from JSON at any depth. Elements of arrays are kept.
///
/// It copies the rest byte for byte, without white space: numbers and strings stay exactly as they are.
struct NullRemover {
    private var output: [UInt8] = []

    /// The maximum nesting depth, the same as in Foundation's decoder.
    private static let maximumDepth = 512

    /// Returns JSON without `null` members; `nil` if the bytes are not JSON.
    static func removingNulls(from bytes: some Sequence<UInt8>) -> [UInt8]? {
        bytes.withContiguousBytes { bytes in
            guard
                let tape = try? JSONTape(scanning: bytes, ambiguities: .ignored, maximumDepth: maximumDepth)
            else { return nil }
            var remover = NullRemover()
            remover.output.reserveCapacity(bytes.count)
            withExtendedLifetime(tape) { remover.copy(tape.root) }
            return remover.output
        }
    }

    private mutating func copy(_ element: JSONElement) {
        switch element.kind {
        case .array: copy(element.elements, in: "[]") { $0.copy($1) }
        case .object:
            copy(element.members.filter { $0.value.kind != .null }, in: "{}") { remover, member in
                remover.copy(member.name)
                remover.output.append(UInt8(ascii: ":"))
                remover.copy(member.value)
            }
        case .string:
            output.append(UInt8(ascii: "\""))
            output += element.text
            output.append(UInt8(ascii: "\""))
        default: output += element.text
        }
    }

    private mutating func copy<Part>(
        _ parts: some Sequence<Part>, in brackets: StaticString, copy: (inout NullRemover, Part) -> Void
    ) {
        output.append(brackets.utf8Start[0])
        for (index, part) in parts.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            copy(&self, part)
        }
        output.append(brackets.utf8Start[1])
    }
}
