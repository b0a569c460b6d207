import DiamondSQLite
import Foundation

/// A server whose first response on each connection is followed by bytes that no request has asked for: at once, or
/// later. Every other request is answered with `own`.
package final class SurplusServer: Sendable {
    package static let second = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 4\r\n\r\nEVIL"

    private let server: RawServer
    private let count = Guarded(0)
    private let request = DispatchSemaphore(value: 0)
    private let (isSent, isEnded) = (Gate(), Gate())

    /// - Parameters:
    ///   - answer: the response to a request for `/first`.
    ///   - surplus: the bytes after it.
    ///   - isLate: whether they are sent only by ``sendSurplus()``.
    package init(_ answer: String, then surplus: String = second, isLate: Bool) throws {
        server = try RawServer { [count, request, isSent, isEnded] connection in
            count.withLock { $0 += 1 }
            while let head = connection.readHead() {
                guard head.contains(" /first ") else {
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown")
                    continue
                }
                connection.write(isLate ? answer : answer + surplus)
                guard isLate else { continue }
                request.wait()
                connection.write(surplus)
                isSent.open()
            }
            isEnded.open()
        }
    }

    package var base: String { server.base }

    /// The number of connections so far.
    package var connections: Int { count.withLock { $0 } }

    /// Sends the bytes on the connection of `/first`, and returns when they have arrived.
    package func sendSurplus() async {
        request.signal()
        await isSent.wait()
    }

    /// Returns when the client has closed a connection.
    package func waitForEnd() async { await isEnded.wait() }
}
