extension String {
    /// The text as one word of a POSIX shell, in single quotes, without expansions.
    package var shellWord: String {
        // By bytes: a quote followed by a combining mark is a different `Character`.
        let parts = utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: #"'\''"#) + "'"
    }
}
