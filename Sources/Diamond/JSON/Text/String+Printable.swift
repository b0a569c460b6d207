extension String {
    /// The text for one line of a terminal or a log. Control and invisible characters are escaped, and only the first
    /// 1,000 characters are kept.
    package var printable: String {
        let isLong = unicodeScalars.count > 1000
        return String(unicodeScalars.prefix(1000)).withoutControls + (isLong ? "…" : "")
    }

    /// The whole text with control and invisible characters escaped as in Swift: `\u{1B}`.
    package var withoutControls: String {
        guard !isPrintable else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            guard !scalar.isPrintable else { return text.unicodeScalars.append(scalar) }
            text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
    }

    /// Whether the text has no control or invisible characters.
    package var isPrintable: Bool { unicodeScalars.allSatisfy(\.isPrintable) }

    /// The text as one word of a POSIX shell, in single quotes, without expansions.
    package var shellWord: String {
        // By bytes: a quote followed by a combining mark is a different `Character`.
        let parts = utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: #"'\''"#) + "'"
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is visible: not a control character, a line separator, a change of the writing direction, or
    /// a character without width.
    package var isPrintable: Bool {
        // The fast path for ASCII.
        if value < 0x7F { return value >= 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return false
        default: return !properties.isDefaultIgnorableCodePoint || properties.isVariationSelector
        }
    }
}
