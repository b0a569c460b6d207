extension String {
    /// As one word for a POSIX shell, in single quotes, in which it acts on nothing.
    package var shellWord: String {
        // By bytes: a quote with a combining mark behind it is one `Character`, which is no quote.
        let parts = utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: #"'\''"#) + "'"
    }
}
