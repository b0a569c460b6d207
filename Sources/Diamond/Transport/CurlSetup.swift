#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import HTTPTypes

/// What of a request is set on an easy handle: everything that may differ from the request before.
struct CurlSetup {
    private let request: TransportRequest
    private let handle: UnsafeMutableRawPointer

    init(_ request: TransportRequest, handle: UnsafeMutableRawPointer) {
        self.request = request
        self.handle = handle
    }

    /// Whether libcurl asks for a content coding and removes it. Ranges count coded bytes, so they ask for none.
    static func decodes(_ request: TransportRequest) -> Bool {
        request.headers[.acceptEncoding] == nil && request.headers[.range] == nil
    }

    /// - Returns: the list of headers, to be freed after the exchange.
    func apply(context: UnsafeMutableRawPointer) -> UnsafeMutablePointer<curl_slist>? {
        diamond_curl_set_text(handle, CURLOPT_URL, request.url)
        diamond_curl_set_text(handle, CURLOPT_ACCEPT_ENCODING, Self.decodes(request) ? "" : nil)
        let connectTimeout = request.connectTimeout.map { max(1, $0.milliseconds) } ?? 0
        diamond_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, Int(connectTimeout))
        diamond_curl_set_context(handle, context)
        let mustBeFresh = diamond_curl_tells_beginning() == 0 && !request.method.isIdempotent
        diamond_curl_set_long(handle, CURLOPT_FRESH_CONNECT, mustBeFresh ? 1 : 0)
        setMethod()
        let fields = list()
        diamond_curl_set_pointer(handle, CURLOPT_HTTPHEADER, fields.map { UnsafeMutableRawPointer($0) })
        return fields
    }

    // MARK: Method and body

    private func setMethod() {
        // GET clears whatever the request before has set.
        diamond_curl_set_long(handle, CURLOPT_HTTPGET, 1)
        let method = request.method
        if let length = uploadLength {
            diamond_curl_set_long(handle, CURLOPT_POST, 1)
            diamond_curl_set_pointer(handle, CURLOPT_POSTFIELDS, nil)
            diamond_curl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(length))
        } else if method == .head {
            diamond_curl_set_long(handle, CURLOPT_NOBODY, 1)
        }
        let isPlain = uploadLength == nil ? method == .get || method == .head : method == .post
        diamond_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, isPlain ? nil : method.rawValue)
    }

    /// Bytes to send, -1 for unknown, `nil` for no body at all. Methods that are expected to carry one say that theirs
    /// is empty (RFC 9110 section 8.6).
    private var uploadLength: Int64? {
        switch request.body {
        case .none: [.post, .put, .patch, .query].contains(request.method) ? 0 : nil
        case .bytes(let data): Int64(data.count)
        case .stream(let length, _): length ?? -1
        }
    }

    // MARK: Headers

    private func list() -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for field in request.headers where field.name != .contentLength && field.name != .transferEncoding {
            // Without a value, libcurl takes "Name:" for a removal and "Name;" for the header.
            let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
            list = curl_slist_append(list, line)
        }
        if request.headers[.accept] == nil { list = curl_slist_append(list, "Accept:") }
        guard let length = uploadLength else { return list }
        if request.headers[.contentType] == nil { list = curl_slist_append(list, "Content-Type:") }
        if length < 0 { list = curl_slist_append(list, "Transfer-Encoding: chunked") }
        // A server that ignores it costs a second.
        return curl_slist_append(list, "Expect:")
    }
}
#endif
