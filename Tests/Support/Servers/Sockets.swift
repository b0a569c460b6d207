#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if canImport(Glibc)
/// The type of a TCP socket.
package let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
/// The type of a TCP socket.
package let streamSocket = SOCK_STREAM
#endif

#if canImport(Darwin)
/// The flag of a write that causes no signal when the reader has closed. On Darwin it is an option of the socket.
package let noSignal: Int32 = 0
#else
/// The flag of a write that causes no signal when the reader has closed.
package let noSignal = Int32(MSG_NOSIGNAL)
#endif
