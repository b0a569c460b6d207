#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import HTTPTypes

/// The parts of a request that are set on an easy handle, without its URL.
struct CurlSetup {
    private let method: HTTPRequest.Method
    private let headers: HTTPFields
    /// Whether it asks for codings.
    private let takesCodings: Bool
    /// Bytes to send, -1 for unknown, `nil` for no body at all. Methods that are expected to carry one say that theirs
    /// is empty (RFC 9110 section 8.6).
    private let uploadLength: Int64?
    private let connectTimeout: Duration?
    private let needsNewConnection: Bool

    init(_ request: TransportRequest) {
        method = request.method
        headers = request.headers
        takesCodings = request.takesCodings
        connectTimeout = request.connectTimeout
        needsNewConnection = request.needsNewConnection
        uploadLength =
            switch request.body {
            case .none: [.post, .put, .patch, .query].contains(request.method) ? 0 : nil
            case .bytes(let data): Int64(data.count)
            case .stream(let length, _): length ?? -1
            }
    }

    /// Whether a handle that is set up for `other` is set up for this, to the byte: equal headers may differ in case.
    func isSame(as other: CurlSetup?) -> Bool {
        guard let other, method == other.method, uploadLength == other.uploadLength else { return false }
        guard connectTimeout == other.connectTimeout, needsNewConnection == other.needsNewConnection
        else { return false }
        return headers.elementsEqual(other.headers) { field, other in
            field.name.rawName == other.name.rawName && field.hasBytes(of: other)
        }
    }

    /// - Returns: the list of headers, to be freed after the next one has been set.
    func apply(to easy: UnsafeMutableRawPointer) -> UnsafeMutablePointer<curl_slist>? {
        let connectTimeout = connectTimeout.map { max(1, $0.milliseconds) } ?? 0
        diamond_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(connectTimeout))
        let couldActTwice = diamond_curl_tells_beginning() == 0 && !method.isIdempotent
        diamond_curl_set_long(easy, CURLOPT_FRESH_CONNECT, needsNewConnection || couldActTwice ? 1 : 0)
        setMethod(on: easy)
        let fields = list()
        diamond_curl_set_pointer(easy, CURLOPT_HTTPHEADER, fields.map { UnsafeMutableRawPointer($0) })
        return fields
    }

    // MARK: Method and body

    private func setMethod(on easy: UnsafeMutableRawPointer) {
        // GET clears whatever the request before has set.
        diamond_curl_set_long(easy, CURLOPT_HTTPGET, 1)
        if let uploadLength {
            diamond_curl_set_long(easy, CURLOPT_POST, 1)
            diamond_curl_set_pointer(easy, CURLOPT_POSTFIELDS, nil)
            diamond_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(uploadLength))
        } else if method == .head {
            diamond_curl_set_long(easy, CURLOPT_NOBODY, 1)
        }
        let isPlain = uploadLength == nil ? method == .get || method == .head : method == .post
        diamond_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, isPlain ? nil : method.rawValue)
    }

    // MARK: Headers

    private func list() -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for field in headers.sent {
            // Without a value, libcurl takes "Name:" for a removal and "Name;" for the header.
            let bytes = field.bytes
            var line = Array("\(field.name.rawName)\(bytes.isEmpty ? ";" : ": ")".utf8) + bytes
            line.append(0)
            list = line.withUnsafeBytes { curl_slist_append(list, $0.assumingMemoryBound(to: CChar.self).baseAddress) }
        }
        if takesCodings { list = curl_slist_append(list, "Accept-Encoding: \(ContentCoding.accepted)") }
        if !headers.contains(.accept) { list = curl_slist_append(list, "Accept:") }
        guard let uploadLength else { return list }
        if !headers.contains(.contentType) { list = curl_slist_append(list, "Content-Type:") }
        if uploadLength < 0 { list = curl_slist_append(list, "Transfer-Encoding: chunked") }
        // A server that ignores it costs a second.
        return curl_slist_append(list, "Expect:")
    }
}
#endif
