#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation
import HTTPTypes

/// The callbacks of libcurl in the middle of a transfer, on the loop's thread.
extension CurlTransfer {
    /// Marks the transfer as begun if the request may be sent: for the first time, or again because a reused connection
    /// was closed.
    ///
    /// - Parameter address: the addresses of the connection; `nil` if libcurl does not tell them.
    /// - Returns: Whether the request may be sent.
    func beginIfAllowed(at address: CurlAddress?) -> Bool {
        if let address, !mayUseConnection(at: address) { return false }
        guard !hasBegun || request.method.isIdempotent else {
            let message = "the reused connection was closed before an answer, and \(request.method) is not repeated"
            failure = TransportError(.connectionLost, message, serverMayHaveActed: true)
            return false
        }
        begin()
        return pendingResponse.beginSending()
    }

    /// Receives a line of the head or of the trailers.
    ///
    /// - Returns: `false` to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        // An empty line ends a head, also an interim one.
        if line.count <= 2 { recordData() }
        guard !hasHead else { return addTrailer(byteCount: line.count) || refuse(HeadLimit.trailers) }
        guard let handle, head.add(line, names: &handle.names) else {
            if line.count <= 2 { passInterim() }
            return head.excess.map { refuse($0) } ?? true
        }
        if let reason = headRefusal { return refuse("\(reason): check that it speaks HTTP") }
        recordProgress()
        watchConnection()
        isComplete = isExpectationRefused
        if let length = head.contentLength, !isComplete { pipe.reserve(length) }
        receive(
            TransportResponse(
                status: HTTPResponse.Status(code: head.status),
                headers: isComplete ? head.fields.withoutBody : decodedFields(),
                body: BodyStream(pipe),
                version: CurlHead.version(diamond_curl_get_long(handle.easy, CURLINFO_HTTP_VERSION)),
                isConnectionReused: diamond_curl_get_long(handle.easy, CURLINFO_NUM_CONNECTS) == 0
            )
        )
        return !isComplete
    }

    /// Whether the server refuses `Expect` (RFC 9110 section 15.5.18). libcurl would repeat the request with the same
    /// field. The caller gets the response without its body instead.
    private var isExpectationRefused: Bool {
        head.status == 417 && upload != nil && request.headers.contains(.expect)
    }

    private func passInterim() {
        guard let onInterim = request.onInterim, let interim = head.takeInterim() else { return }
        onInterim(interim)
    }

    /// The reason to refuse the head; `nil` for a valid one.
    private var headRefusal: String? {
        if head.status == 101 { return "the server switched to a protocol that was not requested" }
        if head.hasInvalidLine { return "the server sent a line in its head that is no field" }
        guard hasBody else { return nil }
        if head.isContradictory { return "the server contradicts itself on where its answer ends" }
        guard head.fields.hasUnrequestedTransferCoding else { return nil }
        return "the server sent a transfer coding that was not requested"
    }

    var hasBody: Bool { request.mayHaveBody(status: head.status) }

    /// Returns the headers, and creates the decoder. The headers of a decoded body lack the fields of the coded one.
    private func decodedFields() -> HTTPFields {
        guard request.isDecoded, let decoder = ContentDecoder(head.fields, of: request) else { return head.fields }
        if hasBody { self.decoder = decoder }
        return head.fields.withoutCoding
    }

    /// Receives bytes of the body.
    ///
    /// - Returns: The number of bytes accepted. Fewer than given end the transfer.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        recordProgress()
        guard hasHead else {
            _ = refuse("the server sent a body without a head: check that it speaks HTTP")
            return 0
        }
        guard acceptsHeldBackData || !pipe.isFull else {
            isHeldBack = true
            return diamond_curl_pause_writing
        }
        // libcurl may call once more with data that it has held back.
        guard failure == nil else { return 0 }
        chunks.decode(bytes.count)
        do throws(TransportError) {
            let demand =
                try decoder?.decode(bytes, into: pipe, highWater: windowSize)
                ?? pipe.yield(bytes: bytes, highWater: windowSize)
            return demand == .stop ? 0 : bytes.count
        } catch {
            failure = error
            return 0
        }
    }

    func sendBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastProgress = .now
        switch upload?.read(into: buffer) ?? .bytes(0) {
        case .bytes(let count): return count
        case .wait:
            isHeldBack = true
            return diamond_curl_pause_reading
        case .failed(let error):
            failure = error
            return diamond_curl_abort_reading
        }
    }

    func rewindBody(to offset: Int) -> Bool { upload?.rewind(to: offset) ?? true }

    /// Stores the error of an invalid response.
    ///
    /// - Returns: `false`, which ends the transfer.
    private func refuse(_ reason: String) -> Bool {
        failure = TransportError(.badResponse, "\(request.originText): \(reason)", serverMayHaveActed: true)
        return false
    }
}

extension HTTPFields {
    /// The fields of the same response with an empty body.
    fileprivate var withoutBody: HTTPFields {
        var fields = filter { ![.transferEncoding, .contentEncoding, .contentLength].contains($0.name) }
        fields.append(HTTPField(name: .contentLength, value: "0"))
        return HTTPFields(fields)
    }
}
#endif
