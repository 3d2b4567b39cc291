-- Threads of GHC's runtime that pass a token around a ring of MVars.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Char (isAscii, isDigit)
import System.Environment
import System.Exit
import System.IO

wholeNumber :: String -> Maybe Int
wholeNumber text
    | null text || length text > 15 || not (all digit text) = Nothing
    | otherwise = Just (read text)
  where
    digit character = isAscii character && isDigit character

arguments :: IO (Int, Int)
arguments = do
    given <- getArgs
    case mapM wholeNumber given of
        Just [threads, hops] | threads >= 1 -> return (threads, hops)
        _ -> do
            hPutStrLn stderr
                "ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits"
            exitWith (ExitFailure 2)

passOn :: MVar Int -> Int -> MVar Int -> MVar Int -> IO ()
passOn end number own next = do
    token <- takeMVar own
    if token == 0
        then putMVar end number
        else do
            putMVar next $! token - 1
            passOn end number own next

main :: IO ()
main = do
    (threads, hops) <- arguments
    end <- newEmptyMVar
    slots <- replicateM threads newEmptyMVar
    forM_ (zip3 [1 ..] slots (tail slots ++ [head slots])) $ \(number, own, next) ->
        forkIO (passOn end number own next)
    putMVar (head slots) hops
    takeMVar end >>= print
