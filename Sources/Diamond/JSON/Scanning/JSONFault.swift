/// An ambiguity, or a value that is nested too deeply, and its place in the text.
struct JSONFault {
    enum Kind: UInt32 { case surrogate, number, name, depth }

    let kind: Kind
    /// The number, or the name without quotes; otherwise only its beginning counts.
    let range: Range<Int>
    let maximumDepth: Int

    /// The offset for errors: of a name at its quote.
    var offset: Int { kind == .name ? range.lowerBound - 1 : range.lowerBound }

    /// The entry that keeps it, after that of the value with the fault.
    var entry: JSONEntry {
        var entry = JSONEntry(.fault, start: range.lowerBound, end: range.upperBound)
        entry.tag = kind.rawValue
        entry.span = UInt32(maximumDepth)
        return entry
    }

    init(_ kind: Kind, in range: Range<Int>, maximumDepth: Int) {
        self.kind = kind
        self.range = range
        self.maximumDepth = maximumDepth
    }

    init(_ entry: JSONEntry) {
        kind = Kind(rawValue: entry.tag) ?? .depth
        range = Int(entry.start)..<Int(entry.end)
        maximumDepth = Int(entry.span)
    }

    func message(in text: UnsafePointer<UInt8>) -> String {
        let bytes = UnsafeRawBufferPointer(start: text + range.lowerBound, count: range.count)
        switch kind {
        case .surrogate: return "a surrogate has no partner"
        case .depth: return "nested deeper than \(maximumDepth) levels"
        case .name: return "the name \"\(JSONEscapes.decoded(bytes))\" is in one object twice"
        case .number:
            let digits = String(decoding: bytes.prefix(40), as: UTF8.self)
            return "a double cannot represent the number \(digits): send it as a string"
        }
    }
}
