/// The name or value of a cookie: text, or a server's bytes that are not UTF-8.
struct CookieText: Hashable, Sendable {
    /// The text. Bytes that are not UTF-8 have one character each, as in ISO-8859-1.
    let text: String
    private let isBytes: Bool

    init(_ text: String) {
        self.text = text
        isBytes = false
    }

    /// - Parameter latin: one character for each byte. Bytes that are UTF-8 become text.
    init(latin: String) {
        let text = String(validating: Self.bytes(of: latin), as: UTF8.self)
        self.text = text ?? latin
        isBytes = text == nil
    }

    /// The bytes that are sent.
    var bytes: [UInt8] { isBytes ? Self.bytes(of: text) : Array(text.utf8) }

    /// Compares the sent bytes.
    static func == (one: CookieText, other: CookieText) -> Bool {
        one.isBytes == other.isBytes && one.text.isExactly(other.text)
    }

    private static func bytes(of latin: String) -> [UInt8] {
        latin.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}
