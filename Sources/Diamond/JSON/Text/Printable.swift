extension String {
    /// Fit for one line of a terminal or a log: characters that could act on either or hide there are escaped, and it is no
    /// longer than 1,000 characters before that.
    package var printable: String {
        let isLong = unicodeScalars.count > 1000
        return String(unicodeScalars.prefix(1000)).withoutControls + (isLong ? "…" : "")
    }

    /// The whole text with those characters escaped, whatever its length. Escapes are those of Swift: `\u{1B}`.
    package var withoutControls: String {
        guard !isPrintable else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            guard !scalar.isPrintable else { return text.unicodeScalars.append(scalar) }
            text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
    }

    /// Whether every character of it can be seen, and acts on nothing.
    package var isPrintable: Bool { unicodeScalars.allSatisfy(\.isPrintable) }
}

extension Unicode.Scalar {
    /// Whether it can be seen, and acts on nothing: no control character, no end of a line, nothing that turns the direction
    /// of a text, and nothing without a width.
    package var isPrintable: Bool {
        // ASCII, nearly always.
        if value < 0x7F { return value >= 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return false
        default: return !properties.isDefaultIgnorableCodePoint || properties.isVariationSelector
        }
    }
}
