import Diamond

/// A word for a POSIX shell, of texts that stand for themselves and of variables.
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
        // Taken out meanwhile, or each text would be copied with all that stands before it.
        var whole: [UInt8] = []
        if case .text(let before) = pieces.last {
            pieces.removeLast()
            whole = before
        }
        whole += text
        if !whole.isEmpty { pieces.append(.text(whole)) }
    }

    mutating func append(variable name: String) { pieces.append(.variable(name)) }

    /// The word in quotes: double ones where they suffice, else each text in single ones, in which a shell acts on
    /// nothing.
    var quoted: String {
        guard hasVariables else { return String(decoding: bytes, as: UTF8.self).shellWord }
        guard bytes.allSatisfy(Self.isPlain) else { return pieces.map(\.quoted).joined() }
        let parts = pieces.indices.map { pieces[$0].unquoted(isLast: $0 == pieces.count - 1) }
        return "\"" + parts.joined() + "\""
    }

    /// As ``quoted``, with texts on which a terminal could act written by the shell's `printf`, which may stand for any
    /// bytes but NUL. No text may end in a line feed: the shell takes it off.
    var escaped: String { pieces.allSatisfy(\.isPrintable) ? quoted : pieces.map(\.escaped).joined() }

    /// The bytes that stand for themselves, without the variables.
    var bytes: [UInt8] {
        pieces.flatMap { if case .text(let bytes) = $0 { bytes } else { [] as [UInt8] } }
    }

    /// Whether a byte means nothing in double quotes, neither to a POSIX shell nor at the prompt of bash or zsh.
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
