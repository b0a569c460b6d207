import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A server of one test that answers by a script, byte by byte: for responses that no correct server gives.
///
/// Every connection runs the script on a thread of its own and is closed when the script returns.
///
/// `@unchecked Sendable`: nothing changes after the initializer.
package final class RawServer: @unchecked Sendable {
    package typealias Script = @Sendable (RawConnection) -> Void

    /// `http://127.0.0.1:PORT`
    package let base: String
    private let descriptor: Int32

    package init(_ script: @escaping Script) throws {
        let (socket, port) = try Self.open()
        descriptor = socket
        base = "http://127.0.0.1:\(port)"
        Thread.detachNewThread { Self.run(on: socket, script) }
    }

    /// Answers the first request of every connection with these bytes, then closes.
    package convenience init(answering answer: String) throws {
        try self.init { connection in
            guard connection.readHead() != nil else { return }
            connection.write(answer)
        }
    }

    /// Returns the URL of a port of this machine that refuses connections.
    package static func refusedURL() throws -> String { "http://127.0.0.1:\(try refusing.get().port)/" }

    /// Held for the lifetime of the process, because another server could get a released port.
    private static let refusing = Result { try open(listens: false) }

    // Wakes the thread in `accept`, which closes the socket.
    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private static func run(on socket: Int32, _ script: @escaping Script) {
        while true {
            let accepted = accept(socket, nil, nil)
            guard accepted >= 0 else {
                // The client has left, or too many files are open for a moment. The next `accept` may succeed.
                if [EINTR, ECONNABORTED, EMFILE, ENFILE].contains(errno) { continue }
                break
            }
            #if canImport(Darwin)
            var isSilent: Int32 = 1
            setsockopt(accepted, SOL_SOCKET, SO_NOSIGPIPE, &isSilent, socklen_t(MemoryLayout<Int32>.size))
            #endif
            Thread.detachNewThread {
                let connection = RawConnection(accepted)
                script(connection)
                connection.end()
            }
        }
        close(socket)
    }

    /// Opens a socket on a free port of this machine.
    ///
    /// - Parameter isPublic: whether other hosts can connect, too.
    static func open(listens: Bool = true, isPublic: Bool = false) throws -> (socket: Int32, port: UInt16) {
        let socket = socket(AF_INET, streamSocket, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if !isPublic { address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian }
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var length = size
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket, pointer, size) == 0 && (!listens || listen(socket, 1024) == 0)
                    && getsockname(socket, pointer, &length) == 0
            }
        }
        guard isOpen else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return (socket, UInt16(bigEndian: address.sin_port))
    }
}

/// One connection to a ``RawServer``, used by its script's thread alone.
package final class RawConnection {
    private let descriptor: Int32
    private var received: [UInt8] = []

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Reads the next request's head, with its blank line; `nil` when the client has closed.
    package func readHead() -> String? { readHeadBytes().map { String(decoding: $0, as: UTF8.self) } }

    /// Reads the next request's head as bytes.
    package func readHeadBytes() -> [UInt8]? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                defer { received.removeSubrange(..<range.upperBound) }
                return Array(received[..<range.upperBound])
            }
            guard receive() else { return nil }
        }
    }

    /// Reads until the client closes its side.
    package func readRest() -> [UInt8] {
        while receive() {}
        defer { received = [] }
        return received
    }

    /// Reads a number of bytes; `nil` when the client closes before.
    package func read(_ count: Int) -> [UInt8]? {
        while received.count < count { guard receive() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Writes, and blocks while the client does not read; `false` when it has left.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, noSignal) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Closes the sending side; the client may still send.
    package func shutOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the connection end with a reset instead of an orderly end when the script returns.
    package func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    fileprivate func end() { close(descriptor) }

    private func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        received += buffer[..<count]
        return true
    }
}
