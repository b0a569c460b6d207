#if Postgres && canImport(CDiamondPostgres)
import CDiamondPostgres
import Diamond
import DiamondSQLite
import Foundation

/// A connection of its own that waits for notifications of a channel, and that holds the locks of a session.
///
/// A notification is a hint: it may be late, missing, or about nothing. Several of them within a moment count as one.
/// After each new connection, `notify` is called, too, because a notification may have been missed.
package final class PostgresListener: Sendable {
    /// A change of the connection.
    package enum Event: Hashable, Sendable {
        /// The connection is made, listens, and has its locks.
        case connected
        case notified
        /// The connection and its locks were lost. Another is made.
        case lost
    }

    private struct State {
        var isClosed = false
        /// The end of a pipe that ends the thread's wait.
        var wakeEnd: Int32?
    }

    private let address: PostgresAddress
    private let channel: PostgresSQL?
    private let name: String
    private let prepare: @Sendable (PostgresConnection) throws(PostgresError) -> Void
    private let read: (@Sendable (PostgresConnection) throws(PostgresError) -> Void)?
    private let notify: @Sendable (Event) -> Void
    private let state = Guarded(State())

    /// The time within which several notifications count as one, in milliseconds.
    private let debounce: Int64
    /// The time after which a silent connection is checked by a round trip, in milliseconds.
    private let checkTime: Int64
    private static let backoff = Backoff(base: .milliseconds(50), cap: .seconds(1))

    /// - Parameters:
    ///   - channel: a statement such as `LISTEN queue`; `nil` for a connection that only holds locks.
    ///   - debounce: the time within which several notifications count as one, in milliseconds.
    ///   - checkTime: the time after which a silent connection is checked by a round trip, in milliseconds. The check may
    ///     take as long, and at least a second.
    ///   - prepare: takes the locks of the session, on each new connection. If it throws, the connection is made again.
    ///   - read: reads what has changed, after notifications and as the check of a silent connection.
    ///   - notify: called on the connection's thread. It must return quickly.
    package init(
        _ address: PostgresAddress, name: String, channel: PostgresSQL?, debounce: Int64 = 50, checkTime: Int64 = 5_000,
        prepare: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Void = { _ in },
        read: (@Sendable (PostgresConnection) throws(PostgresError) -> Void)? = nil,
        notify: @escaping @Sendable (Event) -> Void
    ) {
        self.address = address
        self.name = name
        self.channel = channel
        self.debounce = debounce
        self.checkTime = checkTime
        self.prepare = prepare
        self.read = read
        self.notify = notify
        let thread = Thread { [weak self] in Self.run { self } }
        thread.name = "Diamond PostgreSQL"
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Closes the connection, and so releases its locks. Its thread holds the listener until then.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            if let end = state.wakeEnd { _ = write(end, [0], 1) }
        }
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: The thread

    /// Makes connections until the listener is closed or gone.
    private static func run(_ listener: () -> PostgresListener?) {
        var pipe: [Int32] = [-1, -1]
        guard Foundation.pipe(&pipe) == 0 else { return }
        for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer {
            listener()?.state.withLock { $0.wakeEnd = nil }
            for end in pipe { Foundation.close(end) }
        }
        guard listener()?.state.withLock({ $0.wakeEnd = pipe[1] }) != nil else { return }
        var failures = 0
        while let self = listener(), !self.isClosed {
            if let connection = self.connected() {
                failures = 0
                self.notify(.connected)
                self.listen(on: connection, wakeEnd: pipe[0])
                if !self.isClosed { self.notify(.lost) }
            } else {
                let delay = Self.backoff.delay(failures, draw: .random(in: 0..<1)).milliseconds
                failures += 1
                _ = wait(pipe[0], nil, milliseconds: delay)
            }
        }
    }

    private func connected() -> PostgresConnection? {
        do throws(PostgresError) {
            let connection = try PostgresConnection(address, name: name)
            connection.limit(until: .now + 10_000)
            if let channel { try connection.run(channel) }
            try connection.sync()
            try prepare(connection)
            try connection.sync()
            return connection
        } catch {
            return nil
        }
    }

    /// Waits for notifications until the connection is lost or the listener is closed.
    private func listen(on connection: PostgresConnection, wakeEnd: Int32) {
        var lastNotice = Uptime.min
        while !isClosed {
            do throws(PostgresError) {
                var isNotified = false
                if Self.wait(wakeEnd, connection.socket, milliseconds: checkTime) {
                    guard try connection.takeNotifications() else {
                        if connection.isOpen { continue } else { return }
                    }
                    // The first is reported at once, the next ones together.
                    let left = debounce - Uptime.now.milliseconds(since: max(lastNotice, .now - debounce))
                    if left > 0 { _ = Self.wait(wakeEnd, nil, milliseconds: left) }
                    _ = try connection.takeNotifications()
                    lastNotice = .now
                    isNotified = true
                }
                connection.limit(until: .now + max(checkTime, 1_000))
                if let read { try read(connection) } else if !isNotified { try connection.sync() }
                // The answer may have come after a notification, which was read with it.
                while try connection.takeNotifications() {
                    isNotified = true
                    try read?(connection)
                }
                if isNotified { notify(.notified) }
            } catch {
                return
            }
        }
    }

    /// Waits until a descriptor can be read, or the time is up.
    ///
    /// - Returns: whether the second one can be read.
    private static func wait(_ wakeEnd: Int32, _ socket: Int32?, milliseconds: Int64) -> Bool {
        var descriptors = [pollfd(fd: wakeEnd, events: Int16(POLLIN), revents: 0)]
        if let socket { descriptors.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0)) }
        guard poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: max(0, milliseconds))) > 0 else {
            return false
        }
        return descriptors.count > 1 && descriptors[1].revents != 0
    }
}
#endif
