#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// The callbacks of an easy handle. They call its transfer.
enum CurlCallbacks {
    static func install(on easy: UnsafeMutableRawPointer) {
        diamond_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION, receiveHeader)
        diamond_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION, receiveBody)
        diamond_curl_set_data_callback(easy, CURLOPT_READFUNCTION, sendBody)
        diamond_curl_set_seek_callback(easy, rewindBody)
        diamond_curl_set_begin_callback(easy, begin)
        diamond_curl_set_socket_callback(easy, openSocket)
        diamond_curl_set_debug_callback(easy, watch)
    }

    private static func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let begin: diamond_curl_begin_callback = { context, ip, localIP, port, localPort in
        let address = CurlAddress(ip: ip, localIP: localIP, port: port, localPort: localPort)
        return CurlCallbacks.transfer(context)?.beginIfAllowed(at: address) == true ? 0 : 1
    }

    private static let openSocket: diamond_curl_socket_callback = { context, socket, _ in
        CurlCallbacks.transfer(context)?.addSocket(socket)
        return 0
    }

    private static let watch: diamond_curl_debug_callback = { _, kind, bytes, count, context in
        guard let transfer = CurlCallbacks.transfer(context) else { return 0 }
        switch kind {
        case CURLINFO_DATA_IN: transfer.countWireBytes(count)
        case CURLINFO_TEXT: transfer.receiveMessage(UnsafeRawBufferPointer(start: bytes, count: count))
        default: break
        }
        return 0
    }

    private static let receiveHeader: diamond_curl_data_callback = { bytes, size, count, context in
        guard let transfer = CurlCallbacks.transfer(context) else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return transfer.receiveHeader(line) ? line.count : 0
    }

    private static let receiveBody: diamond_curl_data_callback = { bytes, size, count, context in
        guard let transfer = CurlCallbacks.transfer(context) else { return 0 }
        return transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }

    private static let sendBody: diamond_curl_data_callback = { bytes, size, count, context in
        guard let transfer = CurlCallbacks.transfer(context) else { return diamond_curl_abort_reading }
        return transfer.sendBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }

    private static let rewindBody: diamond_curl_seek_callback = { context, offset, origin in
        guard origin == SEEK_SET, let transfer = CurlCallbacks.transfer(context) else { return CURL_SEEKFUNC_CANTSEEK }
        return transfer.rewindBody(to: Int(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK
    }
}
#endif
