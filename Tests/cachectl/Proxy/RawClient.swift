import DiamondTestSupport
import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A connection to a server, over which a test sends what no correct client sends.
///
/// `@unchecked Sendable`: nothing changes after the initializer.
final class RawClient: @unchecked Sendable {
    private let descriptor: Int32

    /// - Parameter server: `127.0.0.1:PORT`
    init(_ server: String) throws {
        let socket = socket(AF_INET, streamSocket, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = (server.split(separator: ":").last.flatMap { UInt16($0) } ?? 0).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        descriptor = socket
    }

    deinit { close(descriptor) }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Writes, and blocks while the server does not read; `false` when it has closed.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, noSignal) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Reads until the server closes.
    func read() async -> [UInt8] {
        await onThread { client in
            var bytes: [UInt8] = []
            while let piece = client.receive() { bytes += piece }
            return bytes
        }
    }

    /// Reads up to a text, which is the last that is read; or until the server closes.
    func read(through end: String) async -> String {
        await onThread { client in
            var bytes: [UInt8] = []
            while !bytes.suffix(end.utf8.count).elementsEqual(end.utf8), let byte = client.receive(1) { bytes += byte }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Reads until the server closes, and returns the number of bytes.
    func count() async -> Int {
        await onThread { client in
            var count = 0
            while let piece = client.receive() { count += piece.count }
            return count
        }
    }

    // Reading blocks: not on a thread of any pool.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable (RawClient) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body(self)) }
        }
    }

    private func receive(_ limit: Int = 65536) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}
