      *> What a customer may be given without asking, by what they
      *> ordered, spent, and had changed. One line of 15 bytes comes
      *> in for each customer, one of 28 goes out. Build it with
      *>     cobc -x -o build/standing standing.cob
       IDENTIFICATION DIVISION.
       PROGRAM-ID. STANDING.

       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT CUSTOMERS ASSIGN TO KEYBOARD
               ORGANIZATION IS LINE SEQUENTIAL.

       DATA DIVISION.
       FILE SECTION.
       FD  CUSTOMERS.
       01  CUSTOMER.
           05  ORDERS             PIC 9(3).
           05  SPENT              PIC 9(7)V99.
           05  CHANGES            PIC 9(3).

       WORKING-STORAGE SECTION.
       01  STANDING-RECORD.
           05  CUSTOMER-CLASS     PIC X.
           05  GOODWILL           PIC 9(5)V99.
           05  REASON             PIC X(20).
       01  MORE-CUSTOMERS         PIC X VALUE "Y".

       PROCEDURE DIVISION.
       MAIN-LINE.
           OPEN INPUT CUSTOMERS
           PERFORM UNTIL MORE-CUSTOMERS = "N"
               READ CUSTOMERS
                   AT END MOVE "N" TO MORE-CUSTOMERS
                   NOT AT END PERFORM DECIDE
               END-READ
           END-PERFORM
           CLOSE CUSTOMERS
           STOP RUN.

       DECIDE.
           IF ORDERS IS NOT NUMERIC OR SPENT IS NOT NUMERIC
                   OR CHANGES IS NOT NUMERIC
               DISPLAY "NO NUMBERS: " CUSTOMER UPON SYSERR
               STOP RUN 2
           END-IF
           MOVE 0 TO GOODWILL
           EVALUATE TRUE
               WHEN ORDERS = 0
                   MOVE "C" TO CUSTOMER-CLASS
                   MOVE "NO ORDER IS KNOWN" TO REASON
               WHEN CHANGES > ORDERS
                   MOVE "C" TO CUSTOMER-CLASS
                   MOVE "MANY CHANGES" TO REASON
               WHEN SPENT >= 2000
                   MOVE "A" TO CUSTOMER-CLASS
                   MOVE "SPENDS MUCH" TO REASON
                   IF SPENT > 5000
                       MOVE 250 TO GOODWILL
                   ELSE
                       COMPUTE GOODWILL ROUNDED = SPENT * 0.05
                   END-IF
               WHEN OTHER
                   MOVE "B" TO CUSTOMER-CLASS
                   MOVE "SOUND" TO REASON
                   COMPUTE GOODWILL ROUNDED = SPENT * 0.02
           END-EVALUATE
           DISPLAY STANDING-RECORD.
