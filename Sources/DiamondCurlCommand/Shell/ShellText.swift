import Diamond

/// A word for a POSIX shell, made of literal texts and variables.
struct ShellText: Hashable {
    fileprivate enum Piece: Hashable {
        case text([UInt8])
        case variable(String)
    }

    private var pieces: [Piece] = []

    init() {}

    init(_ text: some Sequence<UInt8>) { append(text) }

    var hasVariables: Bool {
        pieces.contains { if case .variable = $0 { true } else { false } }
    }

    mutating func append(_ text: some Sequence<UInt8>) {
        // Removes the last text first, so that appending does not copy it.
        var whole: [UInt8] = []
        if case .text(let before) = pieces.last {
            pieces.removeLast()
            whole = before
        }
        whole += text
        if !whole.isEmpty { pieces.append(.text(whole)) }
    }

    mutating func append(variable name: String) { pieces.append(.variable(name)) }

    /// The word in double quotes if all text is literal in them. Otherwise each text is in single quotes.
    var quoted: String {
        guard hasVariables else { return String(decoding: bytes, as: UTF8.self).shellWord }
        guard bytes.allSatisfy(Self.isPlain) else { return pieces.map(\.quoted).joined() }
        let parts = pieces.indices.map { pieces[$0].unquoted(isLast: $0 == pieces.count - 1) }
        return "\"" + parts.joined() + "\""
    }

    /// The word like ``quoted``, but texts with control characters are written by the shell's `printf`. No text may
    /// contain a NUL. No text may end in a line feed, because the shell removes it.
    var escaped: String { pieces.allSatisfy(\.isPrintable) ? quoted : pieces.map(\.escaped).joined() }

    /// The bytes of the literal texts, without the variables.
    var bytes: [UInt8] {
        pieces.flatMap { if case .text(let bytes) = $0 { bytes } else { [] as [UInt8] } }
    }

    /// Whether a byte is literal in double quotes, for a POSIX shell and at the prompt of bash and zsh.
    private static func isPlain(_ byte: UInt8) -> Bool {
        PercentEncoding.isUnreserved(byte) || " :/?#[]@&()*+,;=%".utf8.contains(byte)
    }
}

extension ShellText.Piece {
    fileprivate func unquoted(isLast: Bool) -> String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .variable(let name): isLast ? "$\(name)" : "${\(name)}"
        }
    }

    fileprivate var isPrintable: Bool {
        guard case .text(let bytes) = self else { return true }
        return String(validating: bytes, as: UTF8.self)?.isPrintable == true
    }

    fileprivate var escaped: String {
        guard case .text(let bytes) = self, !isPrintable else { return quoted }
        return "\"$(printf '\(PrintfFormat.text(of: bytes))')\""
    }

    fileprivate var quoted: String {
        switch self {
        case .text(let bytes): bytes.isEmpty ? "" : ShellText(bytes).quoted
        case .variable(let name): "\"$\(name)\""
        }
    }
}
