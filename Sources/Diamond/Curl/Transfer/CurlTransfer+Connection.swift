#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// The connection of a transfer: its state before the request, and its bytes during the response.
extension CurlTransfer {
    func addSocket(_ socket: Int32) { newConnection.sockets.append(socket) }

    /// Checks the connection before the request is sent.
    ///
    /// - Returns: `false` if the request needs another one.
    func mayUseConnection(at address: CurlAddress) -> Bool {
        guard let handle, let session else { return true }
        guard diamond_curl_get_long(handle.easy, CURLINFO_NUM_CONNECTS) == 0 else {
            newConnection.address = address
            session.sockets.remove(address)
            return true
        }
        guard let socket = session.sockets.socket(at: address) else { return true }
        // libcurl repeats a request whose idle connection was closed, on up to five others. A repetition on a new
        // connection is not repeated, so there is only one (RFC 9112 section 9.3.1).
        handle.connectsAnew = true
        needsReconnection = !isIdle(socket, of: handle)
        return !needsReconnection
    }

    /// Whether a connection is open and has no input. libcurl would take bytes that no request has asked for as the
    /// response (RFC 9112 section 6.3).
    ///
    /// Over TLS a record of any kind counts as input, because only libcurl can decrypt it. Session tickets come before
    /// the first response, and were read with it.
    private func isIdle(_ socket: Int32, of handle: CurlHandle) -> Bool {
        diamond_socket_is_quiet(socket) != 0 && diamond_curl_decrypted_bytes(handle.easy, CurlSession.pendingBytes) == 0
    }

    /// Prepares the handle for a new connection. Nothing was sent yet.
    func prepareReconnection() {
        needsReconnection = false
        handle?.connectsAnew = true
    }

    // MARK: The bytes of the connection

    /// Has libcurl report the bytes of a response whose end it does not check: without a body, or in chunks.
    func watchConnection() {
        guard head.isHTTP1, head.isChunked || !hasBody || head.contentLength == 0 else { return }
        handle?.watchesConnection = true
        // The framing is faulty, and the connection is closed (RFC 9112 section 6.1).
        if head.isHTTP10, head.isChunked { handle?.closesConnection = true }
    }

    /// Counts received bytes of a body, with its chunk sizes and extensions.
    func countWireBytes(_ count: Int) {
        chunks.receive(count)
        guard chunks.isExcessive, failure == nil else { return }
        failure = TransportError(
            .badResponse, "\(request.originText): \(ChunkOverhead.reason)", serverMayHaveActed: true)
        session?.recordFailure(of: self)
    }

    /// Receives a message of libcurl. Some versions, such as 7.88, report bytes after the end of a response in no other
    /// way, and would use the connection again.
    func receiveMessage(_ text: UnsafeRawBufferPointer) {
        let isSurplus = text.starts(with: "Excess found".utf8) || text.starts(with: "Leftovers after".utf8)
        if isSurplus { handle?.closesConnection = true }
    }
}
#endif
