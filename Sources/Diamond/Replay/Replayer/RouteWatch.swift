import Foundation

#if canImport(Glibc)
/// An observer of the kernel's links and routes (rtnetlink(7)).
final class RouteWatch: Sendable {
    private let watch: DescriptorWatch?

    /// `struct sockaddr_nl`, which Glibc's module does not declare.
    private struct Address {
        var family: UInt16
        var padding: UInt16 = 0
        var port: UInt32 = 0
        var groups: UInt32
    }

    /// RTMGRP_LINK, RTMGRP_IPV4_ROUTE and RTMGRP_IPV6_ROUTE.
    private static let groups: UInt32 = 0x1 | 0x40 | 0x400

    /// - Parameter notify: called at each change, on a thread of the system. It must return quickly. It is never called
    ///   if the kernel sends no notifications.
    init(notify: @escaping @Sendable () -> Void) {
        let family = UInt16(AF_NETLINK)
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        // NETLINK_ROUTE is 0.
        let descriptor = socket(Int32(family), type, 0)
        guard descriptor >= 0 else {
            watch = nil
            return
        }
        let address = Address(family: family, groups: Self.groups)
        let isBound = withUnsafeBytes(of: address) { bytes in
            bytes.baseAddress.map { start in
                bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
            }
        }
        guard isBound == true else {
            close(descriptor)
            watch = nil
            return
        }
        // If the socket overflows, one error (ENOBUFS) stands for the lost notifications.
        watch = DescriptorWatch(reading: descriptor, notify: notify)
    }
}
#elseif !canImport(Network)
/// An observer that never reports a change, because the platform reports none.
struct RouteWatch: Sendable {
    init(notify: @escaping @Sendable () -> Void) {}
}
#endif
