import Foundation

/// The transport of an engine's exchanges, and the settings and services that all their attempts share.
///
/// It is a class so that each step of an exchange stores only a reference.
final class ExchangeEnvironment: Sendable {
    let transport: any Transport
    /// Returns the current time.
    let now: @Sendable () -> WallTime
    /// The maximum number of bytes of a response's body, for requests without a limit of their own.
    let bodyLimit: Int
    let retryCoordinator: RetryCoordinator
    let interceptors: [any Interceptor]
    /// The jar whose cookies are sent; `nil` for none.
    let cookies: CookieJar?
    /// The decoder of responses for which the app names none.
    let decoder: SharedDecoder

    init(
        transport: any Transport,
        now: @escaping @Sendable () -> WallTime,
        bodyLimit: Int,
        retryCoordinator: RetryCoordinator,
        interceptors: [any Interceptor],
        cookies: CookieJar?,
        decoder: SharedDecoder
    ) {
        self.transport = transport
        self.now = now
        self.bodyLimit = bodyLimit
        self.retryCoordinator = retryCoordinator
        self.interceptors = interceptors
        self.cookies = cookies
        self.decoder = decoder
    }

    var date: Date { now().date }
}
