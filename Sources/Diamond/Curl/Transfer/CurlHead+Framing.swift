#if Curl && canImport(CDiamondCurl)
import HTTPTypes

extension CurlHead {
    /// The fields of a head that determine the end of the body (RFC 9112 section 6.3).
    struct Framing {
        /// The transfer codings, in lower case.
        private(set) var codings: [String] = []
        /// Whether the fields contradict each other.
        ///
        /// libcurl accepts such heads, and would report a part as the whole body. It uses the last of several lengths
        /// and the first length of a list. If a length is too large, it uses the end of the connection. It uses a
        /// length next to a coding other than `chunked`.
        private(set) var isContradictory = false

        init() {}

        init(_ fields: HTTPFields) {
            guard !Self.isPlain(fields) else { return }
            var lengths: [String] = []
            for field in fields {
                if field.name == .contentLength { lengths += field.value.listElements }
                if field.name == .transferEncoding { codings += field.value.listElements.filter { !$0.isEmpty } }
            }
            isContradictory = Self.isContradiction(codings: codings, lengths: lengths)
        }

        // `identity`, which stood for no coding in RFC 2616, is a coding other than `chunked`. Some versions of
        // libcurl, such as 7.88, then ignore the length, wait for the close of the connection, and report the received
        // bytes as the whole body. `chunked` is applied once, as the last coding (RFC 9112 section 6.1).
        private static func isContradiction(codings: [String], lengths: [String]) -> Bool {
            guard codings.isEmpty else {
                return codings.dropLast().contains("chunked") || codings.last != "chunked" && !lengths.isEmpty
            }
            // A repeated length is no contradiction.
            let distinct = Set(lengths.map { Int64(digits: $0) })
            return distinct.count > 1 || distinct.contains(nil)
        }

        /// Whether there is at most one length, and no coding. It is checked first and without copies, because almost
        /// every head is plain, and splitting the lists took almost half of the time for a head.
        private static func isPlain(_ fields: HTTPFields) -> Bool {
            var length: String?
            for field in fields {
                guard field.name != .transferEncoding else { return false }
                guard field.name == .contentLength else { continue }
                guard length == nil else { return false }
                length = field.value
            }
            return length.map { Int64(digits: $0) != nil } ?? true
        }
    }
}
#endif
