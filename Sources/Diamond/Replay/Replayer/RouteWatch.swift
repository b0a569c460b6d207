import Foundation

#if canImport(Glibc)
/// A watch that the kernel tells when links or routes change (rtnetlink(7)).
final class RouteWatch: Sendable {
    private let watch: DescriptorWatch?

    /// `struct sockaddr_nl`, of which Glibc's module knows nothing.
    private struct Address {
        var family: UInt16
        var padding: UInt16 = 0
        var port: UInt32 = 0
        var groups: UInt32
    }

    /// RTMGRP_LINK, RTMGRP_IPV4_ROUTE and RTMGRP_IPV6_ROUTE.
    private static let groups: UInt32 = 0x1 | 0x40 | 0x400

    /// - Parameter tell: called on a thread of the system's; be short. It is never called if the kernel sends no notes.
    init(tell: @escaping @Sendable () -> Void) {
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
        // Notes that were too many for the socket are told of once (ENOBUFS).
        watch = DescriptorWatch(reading: descriptor, tell: tell)
    }
}
#elseif !canImport(Network)
/// A watch that never reports a change, because the platform reports none.
struct RouteWatch: Sendable {
    init(tell: @escaping @Sendable () -> Void) {}
}
#endif
