import Foundation

/// An observer of the system's notification that the app comes to the foreground. It observes until it is stopped.
struct ForegroundWatch: Sendable {
    // The token is only passed back to the notification center, which is thread-safe.
    nonisolated(unsafe) private let token: (any NSObjectProtocol)?

    /// - Parameter name: the name of the notification; `nil` for a platform without one.
    init(for name: Notification.Name? = platformName, _ notify: @escaping @Sendable () -> Void) {
        token = name.map {
            NotificationCenter.default.addObserver(forName: $0, object: nil, queue: nil) { _ in notify() }
        }
    }

    func stop() { if let token { NotificationCenter.default.removeObserver(token) } }

    // The names are text, because an import would load AppKit in every command-line tool.
    static var platformName: Notification.Name? {
        #if canImport(UIKit) && !os(watchOS)
        Notification.Name("UIApplicationWillEnterForegroundNotification")
        #elseif canImport(AppKit)
        Notification.Name("NSApplicationDidBecomeActiveNotification")
        #else
        nil
        #endif
    }
}
