import DiamondSQLite
import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A relay from a TCP port of this machine to a server on it, with the faults of a network.
package final class FaultyRelay: Sendable {
    /// Called for each piece that arrives, on the thread of its connection and direction. It delays the piece by
    /// returning late.
    ///
    /// - Returns: the number of bytes after which the connection is cut; `nil` to pass them all.
    package typealias Script = @Sendable (_ bytes: [UInt8], _ isAnswer: Bool) -> Int?

    /// The state that the connections' threads share.
    private final class Network: Sendable {
        struct State {
            var script: Script?
            var isStalled = false
            var links: [Int: Link] = [:]
            var lastNumber = 0
            var cuts = 0
        }

        let state = Guarded(State())

        /// Returns what to do with a piece, after the end of a stall.
        func limit(_ bytes: [UInt8], isAnswer: Bool) -> Int? {
            while state.withLock({ $0.isStalled }) { usleep(1_000) }
            let limit = state.withLock { $0.script }?(bytes, isAnswer)
            if limit != nil { state.withLock { $0.cuts += 1 } }
            return limit
        }
    }

    /// A connection. Each direction has a thread; the last one closes the sockets.
    private final class Link: Sendable {
        let client: Int32
        let server: Int32
        private let running = Guarded(2)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }

        func cut() { for socket in [client, server] { shutdown(socket, Int32(SHUT_RDWR)) } }

        func run(over network: Network, number: Int) {
            for isAnswer in [false, true] {
                Thread.detachNewThread { [self] in
                    pass(over: network, isAnswer: isAnswer)
                    cut()
                    guard
                        running.withLock({ running in
                            running -= 1
                            return running == 0
                        })
                    else { return }
                    // In the lock: another thread may be about to cut this connection.
                    network.state.withLock { state in
                        state.links[number] = nil
                        for socket in [client, server] { close(socket) }
                    }
                }
            }
        }

        private func pass(over network: Network, isAnswer: Bool) {
            let (source, target) = isAnswer ? (server, client) : (client, server)
            var buffer = [UInt8](repeating: 0, count: 65536)
            while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
                let bytes = Array(buffer[..<count])
                let limit = network.limit(bytes, isAnswer: isAnswer)
                guard send(bytes.prefix(limit ?? count), to: target), limit == nil else { return }
            }
        }

        private func send(_ bytes: ArraySlice<UInt8>, to socket: Int32) -> Bool {
            var rest = bytes
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, noSignal) }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    /// The server.
    package enum Target: Sendable {
        /// The path of a Unix socket.
        case socket(String)
        /// A port on 127.0.0.1.
        case port(UInt16)
    }

    /// The port.
    package let port: UInt16
    private let listener: Int32
    private let network = Network()

    /// - Parameter isPublic: whether other hosts can connect, too. Otherwise the port is on 127.0.0.1.
    package init(to target: Target, isPublic: Bool = false) throws {
        (listener, port) = try RawServer.open(isPublic: isPublic)
        Thread.detachNewThread { [listener, network] in
            while case let client = accept(listener, nil, nil), client >= 0 || errno == EINTR || errno == ECONNABORTED {
                guard client >= 0 else { continue }
                guard let server = Self.connect(to: target) else {
                    close(client)
                    continue
                }
                let link = Link(client: client, server: server)
                let number = network.state.withLock { state in
                    state.lastNumber += 1
                    state.links[state.lastNumber] = link
                    return state.lastNumber
                }
                link.run(over: network, number: number)
            }
            close(listener)
        }
    }

    // Wakes the thread in `accept`, which closes the socket.
    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        resume()
        cut()
    }

    private static func connect(to target: Target) -> Int32? {
        switch target {
        case .socket(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
            return connect(AF_UNIX, to: address)
        case .port(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            return connect(AF_INET, to: address)
        }
    }

    private static func connect<Address>(_ family: Int32, to address: Address) -> Int32? {
        let socket = socket(family, streamSocket, 0)
        let isConnected = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(socket, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
        if isConnected { return socket }
        close(socket)
        return nil
    }

    // MARK: Faults

    /// Sets the script of all pieces from now on; `nil`, as at the start, passes them.
    package func follow(_ script: Script?) { network.state.withLock { $0.script = script } }

    /// Passes nothing from now on, and ends nothing, as a network that is silent.
    package func stall() { network.state.withLock { $0.isStalled = true } }

    package func resume() { network.state.withLock { $0.isStalled = false } }

    /// Cuts all connections.
    package func cut() { network.state.withLock { for link in $0.links.values { link.cut() } } }

    /// The number of connections that the script has cut.
    package var cuts: Int { network.state.withLock { $0.cuts } }

    /// Cuts the connection in the middle of the next answer that contains a text, once.
    package func cutNextAnswer(with text: String) {
        let isOver = Guarded(false)
        follow { bytes, isAnswer in
            guard isAnswer, let range = bytes.firstRange(of: Array(text.utf8)) else { return nil }
            let isFirst = isOver.withLock { isOver in
                defer { isOver = true }
                return !isOver
            }
            return isFirst ? range.lowerBound + range.count / 2 : nil
        }
    }

    /// Delays pieces, lets some wait long, and cuts connections at any byte.
    ///
    /// - Parameter seed: of the random choices.
    package func storm(seed: UInt64) {
        let random = Guarded(SplitMix(state: seed))
        follow { bytes, _ in
            let (choice, number) = random.withLock { ($0.below(200), $0.below(bytes.count)) }
            switch choice {
            case 0: return number
            case 1: usleep(100_000)
            case 2..<12: usleep(3_000)
            default: break
            }
            return nil
        }
    }
}
