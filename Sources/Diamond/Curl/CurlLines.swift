#if Curl && canImport(CDiamondCurl)
/// Exchanges that wait for another to the same origin to be connected: over TLS it learns whether the server speaks HTTP/2,
/// and then they share its connection (RFC 9113 section 9.1). Used by the loop's thread alone.
///
/// libcurl could keep them waiting itself (`CURLOPT_PIPEWAIT`), but it has one line for all origins, of which an origin that
/// cannot be reached holds up the others, and newer versions go on with nobody where the server speaks HTTP/1.1.
struct CurlLines {
    private struct Line {
        var first: CurlTransfer
        var waiting: [CurlTransfer] = []
    }

    private var lines: [String: Line] = [:]
    /// Origins that have answered over HTTP/1.1: there is nothing to wait for.
    private var unshared: Set<String> = []
    private static let mostUnshared = 1024

    /// - Returns: whether it may be connected; else it waits until ``next(after:)`` brings it.
    mutating func admits(_ transfer: CurlTransfer) -> Bool {
        guard let origin = transfer.sharedOrigin, !unshared.contains(origin) else { return true }
        guard lines[origin] == nil else {
            lines[origin]?.waiting.append(transfer)
            transfer.hasWaited = true
            return false
        }
        lines[origin] = Line(first: transfer)
        return true
    }

    /// - Returns: those who may be connected now that one is, or has ended. Where it was not connected all as well: that tells
    ///   nothing of HTTP/2, and one after the other would each wait for the failures of all before it.
    mutating func next(after transfer: CurlTransfer) -> [CurlTransfer] {
        guard let origin = transfer.sharedOrigin, let line = lines[origin], line.first === transfer else { return [] }
        lines[origin] = nil
        // Who has been canceled meanwhile has no handle any more.
        return line.waiting.filter { $0.handle != nil }
    }

    /// A transfer has its answer.
    mutating func note(_ transfer: CurlTransfer, isShared: Bool) {
        guard let origin = transfer.sharedOrigin, isShared == unshared.contains(origin) else { return }
        guard !isShared else { return _ = unshared.remove(origin) }
        if unshared.count >= Self.mostUnshared { unshared.removeAll() }
        unshared.insert(origin)
    }
}
#endif
