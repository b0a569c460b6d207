#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation
import HTTPTypes

/// What libcurl asks and tells in the middle of a transfer, on the loop's thread.
extension CurlTransfer {
    /// Whether the request may be sent now: for the first time, or again because a kept connection turned out closed.
    func mayBegin() -> Bool {
        guard !hasBegun || request.method.isIdempotent else {
            let message = "the kept connection was closed before an answer, and \(request.method) is not repeated"
            failure = TransportError(.connectionLost, message, requestMayHaveBeenSent: true)
            return false
        }
        begin()
        return reception.beginSending()
    }

    /// `false` ends the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        // The end of a head, an interim one's too.
        if line.count <= 2 { advance() }
        guard !isHeadHere, let handle else { return true }
        guard head.add(line, names: &handle.names) else {
            if head.isTooLarge { refuse("the head of the server's answer is larger than any in earnest") }
            return !head.isTooLarge
        }
        guard head.status != 101 else {
            refuse("the server switched to a protocol nobody asked for")
            return false
        }
        guard !hasBody || !head.isContradictory else {
            refuse("the server contradicts itself on where its answer ends")
            return false
        }
        let isDecoded = CurlSetup.decodes(request) && head.isCoded
        if head.mayExpand { expansion = Expansion() }
        let fields = head.fields(decoded: isDecoded)
        if let length = head.contentLength { pipe.reserve(length) }
        take(
            TransportResponse(
                status: HTTPResponse.Status(code: head.status),
                headers: fields,
                body: BodyStream(pipe),
                version: CurlHead.version(diamond_curl_get_long(handle.easy, CURLINFO_HTTP_VERSION))
            )
        )
        return true
    }

    /// Whether a body follows the head, whatever that says (RFC 9112 section 6.3, item 1).
    private var hasBody: Bool { request.method != .head && head.status != 204 && head.status != 304 }

    /// The number of bytes taken; fewer than given end the transfer.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        advance()
        guard isHeadHere else {
            refuse("the server sent a body without a head")
            return 0
        }
        guard takesAll || !pipe.isFull else {
            isHeldBack = true
            return diamond_curl_pause_writing
        }
        // libcurl may come by once more with what it has held back.
        guard failure == nil, grows(by: bytes.count) else { return 0 }
        return pipe.yield(bytes: bytes) == .stop ? 0 : bytes.count
    }

    /// `false` where it grows out of proportion.
    private func grows(by count: Int) -> Bool {
        expansion?.add(count)
        guard let expansion, !expansion.isSmall, let handle,
            expansion.isBomb(of: Int(diamond_curl_get_offset(handle.easy, CURLINFO_SIZE_DOWNLOAD_T)))
        else { return true }
        let message = "\(request.place): \(Expansion.reason)"
        failure = TransportError(.bodyTooLarge, message, requestMayHaveBeenSent: true)
        return false
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

    private func refuse(_ reason: String) {
        failure = TransportError(.badResponse, "\(reason): check that it speaks HTTP", requestMayHaveBeenSent: true)
    }
}
#endif
