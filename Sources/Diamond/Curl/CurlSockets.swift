#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// The addresses of a connection at both ends, as a number.
struct CurlAddress: Hashable {
    let localPort: Int32
    private let digest: Int

    init(ip: UnsafePointer<CChar>?, localIP: UnsafePointer<CChar>?, port: Int32, localPort: Int32) {
        self.localPort = localPort
        var hasher = Hasher()
        for text in [ip, localIP] {
            hasher.combine(bytes: UnsafeRawBufferPointer(start: text, count: text.map { strlen($0) } ?? 0))
        }
        hasher.combine(port)
        digest = hasher.finalize()
    }
}

/// A connection that libcurl has opened for a transfer.
struct CurlConnection {
    /// The sockets that were opened: with several addresses of a host, one of them is connected.
    var sockets: [Int32] = []
    /// The addresses of the connection; `nil` before the request.
    var address: CurlAddress?
}

/// The sockets of a session's connections over HTTP/1. It is used by the loop's thread only.
///
/// libcurl tells the addresses of a connection before it sends a request, but not the socket.
struct CurlSockets {
    private var sockets: [CurlAddress: Int32] = [:]
    /// The address of each socket. A new connection whose descriptor is known shows that the old one was closed, so
    /// there are never more entries than open files.
    private var addresses: [Int32: CurlAddress] = [:]

    /// Adds the socket of a connection that speaks HTTP/1, unless the connection is not new.
    mutating func add(_ connection: CurlConnection) {
        guard let address = connection.address,
            let socket = connection.sockets.first(where: { diamond_socket_port($0) == address.localPort })
        else { return }
        if let old = addresses.updateValue(address, forKey: socket), old != address { sockets[old] = nil }
        sockets[address] = socket
    }

    /// Removes a new connection's address. Its version is not known before its first response.
    mutating func remove(_ address: CurlAddress) {
        if let socket = sockets.removeValue(forKey: address) { addresses[socket] = nil }
    }

    /// Returns the socket of a connection; `nil` if it does not speak HTTP/1.
    func socket(at address: CurlAddress) -> Int32? { sockets[address] }
}
#endif
