#if Curl && canImport(CDiamondCurl)
/// The transfers that wait until the first transfer to their origin is connected.
///
/// TLS negotiates whether the server speaks HTTP/2. If it does, the waiting transfers share the first one's connection
/// (RFC 9113 section 9.1). It is used by the loop's thread only.
///
/// libcurl's own wait (`CURLOPT_PIPEWAIT`) has two defects. It has one queue for all origins, in which an origin that
/// cannot be reached delays the others. Newer versions start none of the waiting transfers if the server speaks
/// HTTP/1.1.
struct CurlConnectionQueue {
    private struct Connecting {
        var first: CurlTransfer
        var waiting: [CurlTransfer] = []
    }

    private var connecting: [String: Connecting] = [:]
    /// The origins that have responded over HTTP/1.1. Transfers to them do not wait.
    private var http1Origins: Set<String> = []
    private static let maximumHTTP1Origins = 1024

    /// Registers a transfer as the first to its origin, or queues it until the first is connected.
    ///
    /// - Returns: Whether the transfer may connect now; otherwise ``dequeueWaiting(after:)`` returns it later.
    mutating func beginConnecting(_ transfer: CurlTransfer) -> Bool {
        guard let origin = transfer.sharedOrigin, !http1Origins.contains(origin) else { return true }
        guard connecting[origin] == nil else {
            connecting[origin]?.waiting.append(transfer)
            transfer.hasWaitedForConnection = true
            return false
        }
        connecting[origin] = Connecting(first: transfer)
        return true
    }

    /// Removes and returns the transfers that waited for a transfer, which has connected or ended.
    ///
    /// It returns all of them even if the first failed to connect. A failure does not show whether the server speaks
    /// HTTP/2, and transfers connected one by one would each wait for the failures before them.
    mutating func dequeueWaiting(after transfer: CurlTransfer) -> [CurlTransfer] {
        guard let origin = transfer.sharedOrigin, let entry = connecting[origin], entry.first === transfer
        else { return [] }
        connecting[origin] = nil
        // Transfers canceled meanwhile have no handle any more.
        return entry.waiting.filter { $0.handle != nil }
    }

    /// Records the protocol version of a transfer's response.
    mutating func recordResponse(of transfer: CurlTransfer, isHTTP2: Bool) {
        guard let origin = transfer.sharedOrigin, isHTTP2 == http1Origins.contains(origin) else { return }
        guard !isHTTP2 else { return _ = http1Origins.remove(origin) }
        if http1Origins.count >= Self.maximumHTTP1Origins { http1Origins.removeAll() }
        http1Origins.insert(origin)
    }
}
#endif
