#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import HTTPTypes

/// The parts of a request that are set on an easy handle, without its URL.
struct CurlSetup {
    private let method: HTTPRequest.Method
    private let headers: HTTPFields
    /// Whether the transport requests content codings.
    private let requestsCodings: Bool
    /// The number of bytes to send; -1 if it is unknown, `nil` without a body. It is 0 for an empty body of a method
    /// that usually has one (RFC 9110 section 8.6).
    private let uploadLength: Int64?
    private let connectTimeout: Duration?
    private let needsNewConnection: Bool

    init(_ request: TransportRequest) {
        method = request.method
        headers = request.headers
        requestsCodings = request.requestsCodings
        connectTimeout = request.connectTimeout
        needsNewConnection = request.needsNewConnection
        uploadLength =
            switch request.body {
            case .none: [.post, .put, .patch, .query].contains(request.method) ? 0 : nil
            case .bytes(let data): Int64(data.count)
            case .stream(let length, _): length ?? -1
            }
    }

    /// Whether the request needs a new connection. An older libcurl could repeat a request on it that may act twice.
    var connectsAnew: Bool { needsNewConnection || diamond_curl_tells_beginning() == 0 && !method.isIdempotent }

    /// Whether a handle set up for `other` needs no change. Headers are compared byte by byte, because equal headers
    /// may differ in case.
    func isSame(as other: CurlSetup?) -> Bool {
        guard let other, method == other.method, uploadLength == other.uploadLength,
            requestsCodings == other.requestsCodings
        else { return false }
        guard connectTimeout == other.connectTimeout else { return false }
        return headers.elementsEqual(other.headers) { field, other in
            field.name.rawName == other.name.rawName && field.hasBytes(of: other)
        }
    }

    /// Sets the options of the request.
    ///
    /// - Returns: The list of headers. The caller frees it after it has set the next one.
    func apply(to easy: UnsafeMutableRawPointer) -> UnsafeMutablePointer<curl_slist>? {
        let connectTimeout = connectTimeout.map { max(1, $0.milliseconds) } ?? 0
        diamond_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(connectTimeout))
        setMethod(on: easy)
        let fields = headerList()
        diamond_curl_set_pointer(easy, CURLOPT_HTTPHEADER, fields.map { UnsafeMutableRawPointer($0) })
        return fields
    }

    // MARK: Method and body

    private func setMethod(on easy: UnsafeMutableRawPointer) {
        // CURLOPT_HTTPGET resets the method and body of the previous request.
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

    private func headerList() -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for field in headers.sent {
            // libcurl reads "Name:" without a value as a removal, and "Name;" as an empty header.
            let bytes = field.bytes
            var line = Array("\(field.name.rawName)\(bytes.isEmpty ? ";" : ": ")".utf8) + bytes
            line.append(0)
            list = line.withUnsafeBytes { curl_slist_append(list, $0.assumingMemoryBound(to: CChar.self).baseAddress) }
        }
        if requestsCodings { list = curl_slist_append(list, "Accept-Encoding: \(ContentCoding.accepted)") }
        if !headers.contains(.accept) { list = curl_slist_append(list, "Accept:") }
        guard let uploadLength else { return list }
        if !headers.contains(.contentType) { list = curl_slist_append(list, "Content-Type:") }
        if uploadLength < 0 { list = curl_slist_append(list, "Transfer-Encoding: chunked") }
        // Without this, a server that ignores `Expect` costs a second.
        return headers.contains(.expect) ? list : curl_slist_append(list, "Expect:")
    }
}
#endif
