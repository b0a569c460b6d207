extension String {
    /// Fit for one line of a terminal or a log: control characters, which could act on either, replaced, and no longer
    /// than 1,000 characters.
    package var printable: String {
        let isLong = unicodeScalars.count > 1000
        return String(unicodeScalars.prefix(1000)).withoutControls + (isLong ? "…" : "")
    }

    /// The same, as long as it is.
    package var withoutControls: String {
        guard !isPrintable else { return self }
        let replaced = unicodeScalars.map { Self.controls.contains($0) ? "\u{FFFD}" : $0 }
        return String(String.UnicodeScalarView(replaced))
    }

    /// Whether no control character is in it.
    var isPrintable: Bool { !unicodeScalars.contains(where: Self.controls.contains) }

    /// C0, DEL and C1 controls, and Unicode's line ends.
    private static let controls: Set<Unicode.Scalar> = Set(
        (Array(0..<0x20) + Array(0x7F..<0xA0) + [0x2028, 0x2029]).compactMap { Unicode.Scalar(UInt32($0)) }
    )
}
