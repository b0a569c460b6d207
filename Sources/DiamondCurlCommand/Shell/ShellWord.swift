import Diamond

/// A word of a shell's command line, without its quotes.
struct ShellWord: Hashable {
    var bytes: [UInt8]
    /// The position of its start, in characters from 1.
    var position: Int

    /// - Throws: ``RequestError/Code-swift.struct/malformedCurl`` for bytes that are not UTF-8.
    func text() throws(RequestError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("write it in UTF-8") }
        return text
    }

    func failure(_ reason: String) -> RequestError { .malformedCurl(at: position, reason) }
}

extension RequestError {
    /// - Parameter position: the position in the command, in characters from 1.
    static func malformedCurl(at position: Int, _ reason: String) -> RequestError {
        RequestError(.malformedCurl, "the curl command is malformed at character \(position): \(reason)")
    }
}
